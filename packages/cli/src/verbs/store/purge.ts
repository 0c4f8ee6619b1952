import type { ClosedStatus } from "holdfast";
import { ENDED_STATUSES } from "../../command/run-statuses.ts";
import { given, millisecondsOf } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { ProgressBar } from "../../output/progress.ts";
import { runs } from "../workflow/act.ts";

export const purge: Action = async (call) => {
  const olderThan = call.required("older-than");
  const statuses = call.texts("status") as readonly ClosedStatus[];
  const hf = await call.open();
  // Only to count them before anybody is asked: the core reads the duration itself, and counts by the clock of the store.
  const endedBefore = new Date(call.io.now() - millisecondsOf(olderThan, "--older-than"));
  const status = statuses.length === 0 ? ENDED_STATUSES : statuses;
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
