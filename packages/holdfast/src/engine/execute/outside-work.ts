import type { HistoryEvent } from "../../model/event.ts";
import { NONE } from "../../model/short-list.ts";
import type { CommitOutcome, RunCommit, Transition } from "../../ports/store.ts";
import type { DrivenOp } from "../../replay/op.ts";
import { closedBy } from "../children/closed-children.ts";
import { knownDebt } from "../children/known-debt.ts";
import { OtherRuns, type OtherRunsOwner } from "../children/other-runs.ts";
import type { GatheredWork } from "../commit/run-commits.ts";
import { lockChanges, NO_CHANGES } from "../locks/lock-changes.ts";
import { RunLocks } from "../locks/run-locks.ts";
import type { Written } from "../tasks/given-up-tasks.ts";
import { isUnwanted, RunTasks } from "../tasks/run-tasks.ts";
import type { ExecutorHost } from "./executor-host.ts";
import type { QueuedDraft } from "./message-draft.ts";

const NO_TASKS = { tasks: NONE, settled: NONE, dropTasks: false };

/** What one live run has to do with others: its tasks, its children, its messages to other runs, its locks. */
export class OutsideWork {
  readonly #host: ExecutorHost;
  readonly #run: OtherRunsOwner;
  readonly #tasks: RunTasks;
  /** Created when first needed: most runs have nothing to do with others. */
  #others: OtherRuns | undefined;
  #lock: RunLocks | undefined;

  constructor(host: ExecutorHost, run: OtherRunsOwner) {
    this.#host = host;
    this.#run = run;
    this.#tasks = new RunTasks(host, run);
  }

  get #otherRuns(): OtherRuns | undefined {
    if (!this.#others && this.#run.machine.hasCalls) this.#others = new OtherRuns(this.#host, this.#run);
    return this.#others;
  }

  get #locks(): RunLocks | undefined {
    if (!this.#lock && this.#run.machine.locks.any) this.#lock = new RunLocks(this.#host, this.#run);
    return this.#lock;
  }

  /** What a commit with these events does about it. `results`: the consumed messages among them. */
  gather(events: readonly HistoryEvent[], transition: Transition, results: readonly number[]): GatheredWork {
    const { machine } = this.#run;
    const tasks = machine.hasTasks || machine.replaying ? this.#tasks.gather(events, transition) : NO_TASKS;
    const ends = transition.type === "end" || transition.type === "continue";
    const hasLocks = machine.locks.any || machine.replaying;
    const locks = hasLocks ? lockChanges(events, machine.locks.takeStrays(), ends) : NO_CHANGES;
    return { ...tasks, results, closes: closedBy(events), ...locks };
  }

  /** `eventCount`: how many events the run has with it. */
  written(commit: RunCommit, outcome: CommitOutcome, eventCount: number): void {
    this.#tasks.written(commit, outcome);
    this.#others?.written(commit.events);
    if (!outcome.owes) return;
    const { run } = this.#run;
    const debt = knownDebt(run, eventCount, commit, outcome);
    if (!debt || !this.#host.near.ended(debt)) this.#host.others.owing(run, debt);
  }

  /** Nothing of the commit was written. */
  unwritten(): void {
    this.#tasks.unwritten();
  }

  /** Everything has been delivered: what is asked of others may be sent. */
  attend(written: Written): void {
    if (this.#run.machine.pausing) return;
    this.#locks?.attend(written);
    if (this.#run.machine.regaining) return;
    this.#tasks.attend(written);
    this.#otherRuns?.startDue();
  }

  /** Whether the run should stay here, because an answer may come at any moment. */
  holding(): boolean {
    return this.#tasks.holding() || (this.#otherRuns?.holding() ?? false) || (this.#locks?.holding() ?? false);
  }

  /** The same while locks must be regained: everything else has to wait. */
  holdingToRegain(): boolean {
    return this.calling || (this.#locks?.holding() ?? false);
  }

  /** Whether a run whose unread messages wait for a lock stays here for a while. */
  staysToRegain(): boolean {
    return this.#locks?.stays() ?? false;
  }

  /** Whether a call about another run, or about a lock, is not answered yet. */
  get calling(): boolean {
    return (this.#others?.calling ?? false) || (this.#lock?.calling ?? false);
  }

  /** What must be asked of others again, but not yet. */
  get lost(): readonly DrivenOp[] {
    const delayed = this.#others?.delayed ?? NONE;
    return delayed.length === 0 ? this.#tasks.lost : [...this.#tasks.lost, ...delayed];
  }

  /** Whether something must be learned before the run is tried again. */
  get learning(): boolean {
    return this.#tasks.learning;
  }

  /** Whether nobody waits for that result: then it leaves no event. */
  refuses(draft: QueuedDraft): boolean {
    if (draft.lockSeq !== undefined) return this.#locks?.refuses(draft) ?? true;
    if (draft.endOf !== undefined) return this.#otherRuns?.refuses(draft) ?? true;
    if (!isUnwanted(draft, this.#run.machine)) return false;
    this.#tasks.refuse(draft.taskSeq as number);
    return true;
  }

  /** The code has stopped waiting for these; the outcome of those that are closing must still be recorded. */
  stop(withdrawn: readonly DrivenOp[], closing: readonly DrivenOp[], written: Written): void {
    this.#tasks.stop(withdrawn, closing, written);
    this.#otherRuns?.stop(withdrawn, closing);
  }

  /** The code's last turns are taken back. */
  rebase(): void {
    this.#tasks.rebase();
    this.#others?.clear();
    this.#lock?.clear();
  }

  /** The run is no longer here. */
  leave(): void {
    this.#tasks.leave();
    this.#others?.leave();
    this.#lock?.clear();
  }
}
