import type { Hint, Notifier } from "holdfast/adapter";
import type { Fixture } from "./fixture.ts";
import { untilSeen } from "./patience.ts";

export function due(queue: string, at?: number): Hint {
  return { type: "due", namespace: "default", queue, ...(at !== undefined && { at }) };
}

/** The same for tasks. */
export function taskDue(queue: string, at?: number): Hint {
  return { type: "task_due", namespace: "default", queue, ...(at !== undefined && { at }) };
}

export function ended(runId: string): Hint {
  return { type: "ended", namespace: "default", runId };
}

/** Runs the action and waits for all of these hints, in any order and among others. */
export async function expectHints(
  t: Fixture,
  wanted: readonly Hint[],
  act: () => Promise<unknown>,
  notifier: Notifier = t.notifier,
): Promise<void> {
  const missing = new Set(wanted.map(keyOf));
  const stop = notifier.subscribe((hint) => missing.delete(keyOf(hint)));
  await act();
  await untilSeen(t, `the hint ${[...missing].join(" and ")}`, () => missing.size === 0);
  stop();
}

function keyOf(hint: Hint): string {
  return JSON.stringify(Object.entries(hint).sort());
}
