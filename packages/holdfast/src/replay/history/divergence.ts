import type { RunName } from "../../model/child.ts";
import type { EventDraft, HistoryEvent } from "../../model/event.ts";
import type { Op } from "../op.ts";

/** The code that runs now does not do what the history says was done. */
export interface Divergence {
  readonly seq: number;
  /** What went wrong at that event, in one sentence. */
  readonly fault: string;
  /** Ops whose events are in history but that the code did not ask for. */
  readonly recordedNotAsked: readonly { readonly op: string; readonly type: string; readonly seq: number }[];
  /** Ops that the code asked for but of which history knows nothing, with the place that asked. */
  readonly askedNotRecorded: readonly { readonly op: string; readonly kind: string; readonly location?: string }[];
  /** It is in what was copied from that run, and the input of this one may be another. */
  readonly forkedFrom?: RunName;
}

export function describeDivergence(divergence: Divergence): string {
  const recorded = divergence.recordedNotAsked.map(
    (r) => `  - recorded, not asked for: ${r.op} (${r.type}, event ${r.seq})`,
  );
  const asked = divergence.askedNotRecorded.map(
    (a) => `  - asked for, not recorded: ${a.op} (${a.kind})${a.location ? ` at ${a.location}` : ""}`,
  );
  return [
    `The workflow code does not match its history at event ${divergence.seq}: ${divergence.fault}`,
    ...recorded,
    ...asked,
    ...(divergence.forkedFrom ? [forkAdvice(divergence.forkedFrom)] : []),
    "Nothing was executed. Deploy code that matches (keep the old order, use ctx.patched for new code, ctx.retired for a step that is gone, or a new version): a worker that starts with it takes the run up by itself.",
  ].join("\n");
}

function forkAdvice({ id }: RunName): string {
  return `The events up to there were copied from run "${id}", which this run is a fork of: an input that was changed must lead to the same ops before the cut. Otherwise fork before the first op that differs.`;
}

/** Distinct ops in what remains of a history for which `wasAsked` is false. */
export function recordedNotAsked(
  events: readonly HistoryEvent[],
  wasAsked: (op: string) => boolean,
): Divergence["recordedNotAsked"] {
  const seen = new Map<string, { op: string; type: string; seq: number }>();
  for (const event of events) {
    if (event.op === null || event.type === "signal_received" || seen.has(event.op) || wasAsked(event.op)) continue;
    seen.set(event.op, { op: event.op, type: event.type, seq: event.seq });
  }
  return [...seen.values()];
}

export function notAskedFault(event: EventDraft): string {
  return `${event.type} of "${event.op}" was recorded, but the code did not ask for it.`;
}

export function noteNotAskedFault(event: EventDraft): string {
  return `${event.type} of "${event.op}" was recorded, but the code did not ask for that step.`;
}

export function otherKindFault(event: HistoryEvent, op: Op): string {
  return `"${event.op}" was recorded as ${event.type}, but the code asked for it as a ${op.module.shown(op)}.`;
}

export function otherCommandFault(asked: EventDraft, next: HistoryEvent): string {
  const there = `${next.type}${next.op === null ? "" : ` of "${next.op}"`}`;
  return `the code asked for ${asked.type} of "${asked.op}" where history has ${there}.`;
}
