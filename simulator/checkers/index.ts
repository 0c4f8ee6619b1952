/**
 * The invariants, one file each. Every checker is a pure function of the evidence; `needs` names the evidence it
 * requires. Rows and histories are enough for history-unbroken, row-is-fold and timers; with the effects that the steps
 * recorded, a real store gets most of the others.
 */
import type { Checker, Evidence, Violation } from "../evidence.ts";
import { acknowledged } from "./acknowledged.ts";
import { alone } from "./alone.ts";
import { attempts } from "./attempts.ts";
import { canceledMeansCanceled } from "./canceled-means-canceled.ts";
import { childEnds } from "./child-ends.ts";
import { childStarts } from "./child-starts.ts";
import { closePolicy } from "./close-policy.ts";
import { compensation } from "./compensation.ts";
import { completedOnce } from "./completed-once.ts";
import { conditions } from "./conditions.ts";
import { debts } from "./debts.ts";
import { durableBeforeEffect } from "./durable-before-effect.ts";
import { effectsInHistory } from "./effects-in-history.ts";
import { forks } from "./forks.ts";
import { heardOut } from "./heard-out.ts";
import { historyUnbroken } from "./history-unbroken.ts";
import { holderAppends } from "./holder-appends.ts";
import { limitLine } from "./limit-line.ts";
import { limitPlaces } from "./limit-places.ts";
import { lineage } from "./lineage.ts";
import { lockLine } from "./lock-line.ts";
import { lockPlaces } from "./lock-places.ts";
import { moves } from "./moves.ts";
import { noComplaints } from "./no-complaints.ts";
import { nothingLost } from "./nothing-lost.ts";
import { operations } from "./operations.ts";
import { outputs } from "./outputs.ts";
import { patches } from "./patches.ts";
import { queries } from "./queries.ts";
import { quiet } from "./quiet.ts";
import { retention } from "./retention.ts";
import { rowIsFold } from "./row-is-fold.ts";
import { runMessages } from "./run-messages.ts";
import { schedules } from "./schedules.ts";
import { segments } from "./segments.ts";
import { signals } from "./signals.ts";
import { taskAttempts } from "./task-attempts.ts";
import { taskFence } from "./task-fence.ts";
import { taskResults } from "./task-results.ts";
import { taskStarts } from "./task-starts.ts";
import { tasksAccounted } from "./tasks-accounted.ts";
import { timers } from "./timers.ts";
import { transactions } from "./transactions.ts";
import { undoneAsDone } from "./undone-as-done.ts";
import { updates } from "./updates.ts";
import { wakeUps } from "./wake-ups.ts";
import { watchdog } from "./watchdog.ts";
import { withinLease } from "./within-lease.ts";

export const CHECKERS: readonly Checker[] = [
  historyUnbroken,
  holderAppends,
  completedOnce,
  durableBeforeEffect,
  effectsInHistory,
  withinLease,
  alone,
  attempts,
  operations,
  forks,
  segments,
  timers,
  transactions,
  tasksAccounted,
  taskFence,
  taskStarts,
  taskAttempts,
  taskResults,
  signals,
  heardOut,
  childStarts,
  lineage,
  childEnds,
  closePolicy,
  debts,
  runMessages,
  updates,
  queries,
  conditions,
  wakeUps,
  canceledMeansCanceled,
  compensation,
  undoneAsDone,
  rowIsFold,
  patches,
  outputs,
  schedules,
  lockLine,
  lockPlaces,
  limitPlaces,
  limitLine,
  watchdog,
  moves,
  retention,
  acknowledged,
  noComplaints,
  nothingLost,
  quiet,
];

/** The same for rows and histories from any source, with any other evidence. */
export const checkHistories = (evidence: Evidence): Promise<Violation[]> => checkEvidence(evidence);

/** The violations found by every checker for which the evidence suffices. */
export async function checkEvidence(evidence: Evidence): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const { name, needs, check } of CHECKERS) {
    if (needs.some((key) => evidence[key] === undefined)) continue;
    for (const { runId, text } of await check(evidence)) violations.push({ checker: name, runId, text });
  }
  return violations;
}
