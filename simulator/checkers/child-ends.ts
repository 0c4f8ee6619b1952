import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import type { Payload } from "../../packages/holdfast/src/model/payload.ts";
import type { Run } from "../../packages/holdfast/src/model/run.ts";
import type { Checker, Evidence, Found, RunEvidence } from "../evidence.ts";

/** What a run is told about the end of another one, its child or one that it waits for, is how that run has ended. */
export const childEnds: Checker = {
  name: "child-ends",
  needs: ["births"],
  check(evidence) {
    const ends = new Ends(evidence);
    return evidence.runs.flatMap(({ run, history }) =>
      history.flatMap((event): Found[] => {
        const others = ends.about(run.runId, event);
        if (!others || others.some((other) => agrees(event, other))) return [];
        const told = event.meta?.status ?? "completed";
        const rows = others.map((other) => `${other.run.runId} ${other.run.status}`).join(", ");
        return [{ runId: run.runId, text: `"${event.op}" was told ${told} (event ${event.seq}), but: ${rows}` }];
      }),
    );
  },
};

/** Which runs an event may speak of. */
class Ends {
  readonly #byParent = new Map<string, RunEvidence[]>();
  readonly #byId = new Map<string, RunEvidence[]>();

  constructor({ runs }: Evidence) {
    for (const one of runs) {
      const { lineage, id } = one.run;
      if (lineage?.op != null) add(this.#byParent, `${lineage.parent.runId} ${lineage.op}`, one);
      add(this.#byId, id, one);
    }
  }

  about(runId: string, { type, op, meta }: HistoryEvent): readonly RunEvidence[] | undefined {
    if (type === "child_completed" || (type === "child_failed" && meta?.status))
      return this.#byParent.get(`${runId} ${op}`) ?? [];
    const isEnd = type === "message_sent" || (type === "message_failed" && meta?.status !== undefined);
    return isEnd && op?.startsWith("result:") ? (this.#byId.get(meta?.to?.id ?? "") ?? []) : undefined;
  }
}

function agrees({ payload, meta }: HistoryEvent, { run, history }: RunEvidence): boolean {
  if (meta?.status === undefined) return run.status === "completed" && text(payload) === text(run.output);
  // A run that has failed may be retried.
  if (meta.status === "failed" && history.some(({ type }) => type === "run_retried")) return true;
  return meta.status === run.status && meta.error?.message === run.error?.message;
}

function text(payload: Payload | Run["output"] | undefined): string {
  return payload ? Buffer.from(payload).toString("latin1") : "";
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
