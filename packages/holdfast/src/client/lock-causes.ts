import type { RunName } from "../model/child.ts";
import { afterPrefix, LOCK_PREFIX } from "../model/ids.ts";
import type { Run } from "../model/run.ts";
import type { Cause } from "./cause.ts";
import type { ClientCore } from "./client-core.ts";
import { readLock } from "./locks.ts";
import { listed } from "./op-words.ts";
import { type Follow, followRun } from "./other-causes.ts";
import type { StepView } from "./step-view.ts";

export const HOLDERS_MAX = 100;
/** So many locks are looked at. */
const LOCKS_MAX = 5;
/** Of so many holders it is said what they wait for in turn. */
const FOLLOWED_MAX = 3;

/** The locks that a run waits for: who holds each, where the run stands in line, and what the holders wait for in turn. */
export async function lockCauses(
  core: ClientCore,
  run: Run,
  steps: readonly StepView[],
  follow: Follow,
): Promise<Cause[]> {
  const waiting = steps.filter(({ kind, status }) => kind === "lock" && status === "waiting").slice(0, LOCKS_MAX);
  const causes: Cause[] = [];
  for (const { op, startedAt, dueAt } of waiting) {
    const lock = await readLock(core, afterPrefix(op, LOCK_PREFIX));
    const position = lock.waiting.find((other) => other.runId === run.runId && other.op === op)?.position;
    const about: Cause = {
      kind: "lock",
      op,
      ...(startedAt ? { since: startedAt } : {}),
      ...(dueAt ? { at: dueAt } : {}),
      ...(position === undefined ? {} : { position }),
      holders: lock.holders.slice(0, HOLDERS_MAX).map(({ id, runId }) => ({ id, runId })),
    };
    // Granted a moment ago: the run is about to learn of it.
    const isGranted = lock.holders.some((holder) => holder.runId === run.runId && holder.op === op);
    causes.push(isGranted ? about : { ...about, ...(await behindHolders(lock.holders, follow)) });
  }
  return causes;
}

/** What the first holder waits for. Only if all of them wait in a circle, nothing is ever given back. */
export async function behindHolders(
  holders: readonly RunName[],
  follow: Follow,
): Promise<Pick<Cause, "run" | "cause" | "circle">> {
  const found = [];
  for (const holder of holders.slice(0, FOLLOWED_MAX)) found.push(await followRun(holder, follow));
  const free = found.find(({ circle }) => circle === undefined);
  if (free) return free;
  const [first = {}] = found;
  const { circle: _circle, ...rest } = first;
  return found.length === holders.length ? first : rest;
}

/** The holders, and what the first of them waits for. */
export function lockText(cause: Cause): string {
  const { op = "", holders = [], position } = cause;
  const name = afterPrefix(op, LOCK_PREFIX);
  const place = position === undefined ? "" : ` This run is number ${position} in line.`;
  if (holders.length === 0) return position === undefined ? "" : `Lock "${name}" is free.${place}`;
  const shown = holders.slice(0, 3).map(({ id }) => `"${id}"`);
  const more = holders.length > 3 ? [`${holders.length - 3} more`] : [];
  return `Lock "${name}" is held by ${holders.length === 1 ? "run" : "runs"} ${listed([...shown, ...more])}.${place}`;
}
