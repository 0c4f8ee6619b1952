import type { HistoryEvent } from "../../model/event.ts";
import type { Message } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";
import { departedRun, type RunImage, type RunRest } from "../../model/transfer.ts";
import type { ClientCore } from "../client-core.ts";

/** The largest run that is exported or moved, by the bytes of its values: it is one line, and one call of a store. */
export const IMAGE_BYTES_MAX = 64 * 1024 * 1024;

/** A run as its store has it now, with everything but what `transfers` knows. */
export interface ReadRun {
  readonly run: Run;
  readonly events: readonly HistoryEvent[];
  readonly messages: readonly Message[];
}

/** Undefined if there is no such run. */
export async function readRun(core: ClientCore, runId: string): Promise<ReadRun | undefined> {
  const { namespace } = core;
  const [run] = await core.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
  if (run?.runId !== runId) return undefined;
  const events = await core.readHistory(run).catch(async (error: unknown) => {
    // It has ended since the row was read, or left, and was deleted.
    const [still] = await core.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
    if (still?.runId === runId) throw error;
    return undefined;
  });
  if (!events) return undefined;
  const messages = await core.call((store) => store.inbox.read({ runs: [{ namespace, runId, after: 0 }] }));
  return { run, events, messages };
}

export function isTooLarge({ run, events, messages }: ReadRun): boolean {
  let bytes = run.input.length + (run.output?.length ?? 0);
  for (const { payload } of events) bytes += (payload?.length ?? 0) + EVENT_BYTES;
  for (const { payload } of messages) bytes += payload.length + EVENT_BYTES;
  return bytes > IMAGE_BYTES_MAX;
}

/** What else an event or a message takes, about. */
const EVENT_BYTES = 200;

/** The image of a run that has left; times are whole milliseconds, rounded up, as not every store keeps others. */
export function imageOf({ run, events, messages }: ReadRun, rest: RunRest, namespace: string): RunImage {
  const left = departedRun(run, rest);
  const { availableAt, deadlineAt, timeoutMs } = left;
  const whole = { availableAt: up(availableAt), deadlineAt: up(deadlineAt), timeoutMs: up(timeoutMs) };
  return {
    run: { ...left, ...whole, namespace },
    events,
    messages,
    rest: { ...rest, tasks: rest.tasks.map(wholeTask) },
  };
}

function wholeTask(task: RunRest["tasks"][number]): RunRest["tasks"][number] {
  return {
    ...task,
    availableAt: up(task.availableAt),
    expiresAt: up(task.expiresAt),
    timeoutMs: up(task.timeoutMs),
    startTimeoutMs: up(task.startTimeoutMs),
    totalTimeoutMs: up(task.totalTimeoutMs),
    heartbeatMs: up(task.heartbeatMs),
  };
}

function up(ms: number | null): number | null {
  return ms === null ? null : Math.ceil(ms);
}
