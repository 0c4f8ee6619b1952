import { type ErrorRecord, shownError } from "./error-record.ts";
import { EMPTY_PAYLOAD, type Payload } from "./payload.ts";
import type { ClosedStatus, CompensationOutcome, Run } from "./run.ts";

/** How a run ended, for those who wait for it. Never `continued`: that is not the end of its chain. */
export interface EndedRun {
  readonly namespace: string;
  readonly runId: string;
  /** The first run of its chain: the one that was started, and that others wait for. */
  readonly firstRunId: string;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly status: Exclude<ClosedStatus, "continued">;
  readonly output: Payload | null;
  readonly error: ErrorRecord | null;
  readonly compensation: CompensationOutcome | null;
  /** Tells this end from one before a retry of the run, which adds an event. */
  readonly eventCount: number;
}

/** What a message about a run that did not complete carries. */
export interface FailedEnd {
  readonly runId: string;
  readonly id: string;
  readonly workflow: string;
  readonly status: EndedRun["status"];
  readonly error?: ErrorRecord;
  readonly compensation?: CompensationOutcome;
}

export function endedRun(run: Run): EndedRun {
  const { namespace, runId, firstRunId, id, workflow, version, output, error, compensation, eventCount } = run;
  const status = run.status as EndedRun["status"];
  return { namespace, runId, firstRunId, id, workflow, version, status, output, error, compensation, eventCount };
}

/** The payload of the message that tells of the end: the output, or why there is none. */
export function endPayload(end: EndedRun): Payload {
  if (end.status === "completed") return end.output ?? EMPTY_PAYLOAD;
  const { runId, id, workflow, status, error, compensation } = end;
  const failed: FailedEnd = {
    runId,
    id,
    workflow,
    status,
    ...(error === null ? {} : { error: shownError(error) as ErrorRecord }),
    ...(compensation === null ? {} : { compensation }),
  };
  return new TextEncoder().encode(JSON.stringify(failed));
}

export function readFailedEnd(payload: Payload): FailedEnd {
  return JSON.parse(new TextDecoder().decode(payload)) as FailedEnd;
}

/** Which of the ends of its chain it was. */
export function endName({ runId, eventCount }: Pick<EndedRun, "runId" | "eventCount">): string {
  return `${runId}/${eventCount}`;
}

/** The id of a message about an end: which chain, which of its ends, and for which op of which run. */
export function endMessageId(end: EndedRun, to: { readonly runId: string; readonly op: string }): string {
  return `\tend\t${end.firstRunId}\t${endName(end)}\t${to.runId}\t${to.op}`;
}

/** What such an id says. `end` tells the ends of one chain apart. */
export function readEndMessageId(messageId: string): { readonly firstRunId: string; readonly end: string } {
  const [, , firstRunId = "", end = ""] = messageId.split("\t");
  return { firstRunId, end };
}
