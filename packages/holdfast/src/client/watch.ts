/** A run, event by event, while it goes on. */
import type { RunEnds } from "../calls/run-ends.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { checkOptions, type OptionChecks, wholeNumber } from "../errors/option-checks.ts";
import { isClosed, type Run } from "../model/run.ts";
import type { RunRef } from "../ports/store.ts";
import { type ByRunId, refOf } from "./call-checks.ts";
import type { ClientCore } from "./client-core.ts";
import { readWindow, viewWindow } from "./history-window.ts";
import type { EventView } from "./run-view.ts";

/** Where `hf.watch` begins. */
export interface WatchOptions {
  /**
   * The seq of the first event, in the newest run of the id.
   * @defaultValue `0`, the start of the run
   */
  readonly from?: number;
}

/** An event of a run that is watched. */
export interface WatchedEvent extends EventView {
  /** Its run: another one after continue-as-new, whose seqs begin at 0 again. */
  readonly runId: string;
}

const WATCH_OPTIONS: OptionChecks<WatchOptions> = { from: wholeNumber(0, Number.MAX_SAFE_INTEGER) };

export interface Watching {
  readonly core: ClientCore;
  readonly ends: RunEnds;
  /** How often to look at a run that another process executes: nobody announces its events. */
  readonly lookMs: number;
  /** The test engine advances its clock while somebody waits. */
  readonly during: <R>(waiting: Promise<R>) => Promise<R>;
}

/** Ends after the end of the run. What is missing is an error at once, not with the first event. */
export function watchRun(
  watching: Watching,
  named: string | ByRunId,
  options: WatchOptions,
): AsyncGenerator<WatchedEvent, void> {
  const ref = refOf(watching.core.namespace, named);
  checkOptions(options, WATCH_OPTIONS, "watch");
  watching.core.life.assertOpen();
  return watch(watching, ref, options.from ?? 0);
}

async function* watch(watching: Watching, named: RunRef, first: number): AsyncGenerator<WatchedEvent, void> {
  const { core } = watching;
  const { namespace } = core;
  const id = "id" in named ? named.id : named.runId;
  let ref = named;
  let next = first;
  for (;;) {
    const run = await readRun(core, ref, id);
    ref = { namespace, runId: run.runId };
    const wait = waitFor(watching, run);
    try {
      for (;;) {
        const window = await readWindow(core, run, { from: next });
        for (const event of viewWindow(window, core.ports.codec)) yield { ...event, runId: run.runId };
        const last = window.events.at(-1);
        if (last) next = last.seq + 1;
        if (window.next === null) break;
      }
      if (isClosed(run.status)) {
        if (run.continuedAs === null) return;
        ref = { namespace, runId: run.continuedAs };
        next = 0;
      } else await watching.during(wait.over);
    } finally {
      wait.end();
    }
  }
}

async function readRun(core: ClientCore, ref: RunRef, id: string): Promise<Run> {
  const [run] = await core.call((store) => store.runs.read({ runs: [ref] }));
  if (run) return run;
  throw new HoldfastError("run_not_found", `There is no run "${id}" in namespace "${core.namespace}".`, {
    data: { id },
  });
}

/** Until something may have happened to the run since it was read: begun before its events are read, so that nothing is missed. */
function waitFor({ core, ends, lookMs }: Watching, { runId }: Run): { readonly over: Promise<void>; end(): void } {
  const { clock, notifier } = core.ports;
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    const ifSame = (other: string): void => {
      if (other === runId) end();
    };
    const undo = [
      ends.subscribe({
        ended: (one) => ifSame(one.runId),
        parked: (one) => ifSame(one.runId),
        progressed: ifSame,
      }),
      notifier.subscribe((hint) => {
        if (hint.type === "ended") ifSame(hint.runId);
      }),
      notifier.watch?.([runId]),
      core.life.watch(() => end()),
    ];
    const timer = clock.setTimer(lookMs, () => end());
    end = () => {
      timer.cancel();
      for (const forget of undo) forget?.();
      resolve();
    };
  });
  return { over, end: () => end() };
}
