/** Whatever takes a run from the worker that holds it. */
import type { Store } from "holdfast/adapter";
import { aStart, type Fixture, REPLACED, SWEEP } from "../fixture.ts";
import type { Holder } from "../holder.ts";
import { untilAnswered } from "../patience.ts";
import { errorRecord, HOLD } from "../sample-data.ts";

export const RESTARTED = { type: "run_restarted", op: null, meta: { by: "watchdog", reason: "stalled_run" } } as const;

/** Answers when nobody holds the run any more under the epoch of the holder. */
export type TakeAway = (t: Fixture, store: Store, holder: Holder) => Promise<void>;

export const TAKINGS = {
  release: async (_, store, { namespace, workerId, runId, epoch }) => {
    const params = { namespace, workerId, runs: [{ runId, epoch }] };
    await until(store, runId, () => store.runs.releaseIfHeld(params));
  },
  stop: async (_, store, { namespace, workerId, runId }) => {
    await untilAnswered(() => store.workers.stop({ namespace, workerId }));
    // What another transaction has locked is left to the next sweep.
    await until(store, runId, () => store.workers.sweep(SWEEP));
  },
  sweep: async (_, store, { workerId, runId }) => {
    await until(store, runId, () => store.workers.sweep({ ...SWEEP, gone: [workerId] }));
  },
  restart: async (_, store, { namespace, runId }) => {
    await until(store, runId, async () => {
      const [run] = await store.runs.read({ runs: [{ namespace, runId }] });
      if (!run) throw new Error(`there is no run ${runId}`);
      const { epoch, commit, eventCount } = run;
      await store.runs.restartIfHeld({ namespace, runId, epoch, commit, eventCount, event: RESTARTED });
    });
  },
  terminate: async (_, store, { namespace, runId }) => {
    const error = errorRecord("enough");
    await untilAnswered(() => store.runs.terminate({ runs: [{ namespace, runId }], error }));
  },
  replace: async (t, store, { namespace, runId }) => {
    const [run] = await store.runs.read({ runs: [{ namespace, runId }] });
    const start = aStart(t.newRun({ id: run?.id ?? "", startDelayMs: 1_000_000 }), { ifRunning: "replace" });
    await untilAnswered(() => store.runs.start({ starts: [start], holdBy: null, replaceError: REPLACED }));
  },
} satisfies Readonly<Record<string, TakeAway>>;

/** Calls that skip what another transaction has locked are repeated until they have taken the run away. */
async function until(store: Store, runId: string, call: () => Promise<unknown>): Promise<void> {
  for (;;) {
    await untilAnswered(call);
    const [run] = await store.runs.read({ runs: [{ namespace: "default", runId }] });
    if (run?.heldBy === null) return;
  }
}

/** A run that is held, and whose row says that it has begun. */
export async function begun(t: Fixture, workerId?: string): Promise<Holder> {
  const holder = await t.held({}, workerId);
  await holder.commit(HOLD, { events: 1 });
  return holder;
}
