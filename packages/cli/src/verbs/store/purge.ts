import type { ClosedStatus } from "holdfast";
import { given } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";
import { ProgressBar } from "../../output/progress.ts";
import { runs } from "../workflow/act.ts";

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

export const purge: Action = async (call) => {
  const olderThan = call.required("older-than");
  const statuses = call.texts("status") as readonly ClosedStatus[];
  const hf = await call.open();
  const endedBefore = new Date(call.io.now() - msOf(olderThan));
  const status = statuses.length === 0 ? CLOSED : statuses;
  const matched = await hf.count({ endedBefore, status });
  if (call.flag("dry-run")) {
    call.out.line(`${runs(matched)} would be deleted. Nothing was changed.`);
    call.out.record({ matched, dryRun: true });
    return undefined;
  }
  if (
    matched > 0 &&
    !(await call.confirm(`${runs(matched)} that ended more than ${olderThan} ago will be deleted. Go on?`))
  )
    return call.declined();
  const bar = new ProgressBar(call.io, call.out, matched);
  const options = {
    olderThan,
    onBatch: (done: number) => bar.show(done),
    ...given({ statuses: statuses.length > 0 ? statuses : undefined }),
  };
  const purged = await hf.purge(options).finally(() => bar.clear());
  call.out.done(`Deleted ${runs(purged)}`, { purged });
  return undefined;
};

const CLOSED: readonly ClosedStatus[] = ["completed", "failed", "canceled", "terminated", "timed_out", "continued"];

/** Only to count them before anybody is asked; the core reads the duration itself, and counts by the clock of the store. */
function msOf(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)[a-z]*\s*/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text)
    throw new UsageError(`--older-than is "${text}"; write a duration such as 30d or 12h.`);
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit as string] as number), 0);
}
