/** Ops of a run for tables of many runs: with the place of each in the history. */
import type { RunHandle, StepView } from "holdfast";
import { opEvents } from "./op-events.ts";

export interface OpSummary {
  readonly step: StepView;
  /** Its last event; null if it has none yet. */
  readonly seq: number | null;
  readonly ms: number | null;
}

export async function opSummaries(handle: RunHandle, key: string): Promise<OpSummary[]> {
  const [steps, events] = await Promise.all([handle.steps(), opEvents(handle, key)]);
  return steps.map((step) => ({ step, seq: events.places.get(step.op)?.last ?? null, ms: lengthOf(step) }));
}

export function lengthOf({ startedAt, endedAt }: StepView): number | null {
  return startedAt && endedAt ? endedAt.getTime() - startedAt.getTime() : null;
}
