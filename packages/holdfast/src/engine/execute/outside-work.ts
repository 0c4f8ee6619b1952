import type { HistoryEvent } from "../../model/event.ts";
import { NONE } from "../../model/short-list.ts";
import type { CommitOutcome, RunCommit, Transition } from "../../ports/store.ts";
import type { DrivenOp } from "../../replay/op.ts";
import { knownDebt } from "../children/known-debt.ts";
import { closedBy, OtherRuns, type OtherRunsOwner } from "../children/other-runs.ts";
import type { GatheredWork } from "../commit/run-commits.ts";
import type { Written } from "../tasks/given-up-tasks.ts";
import { isUnwanted, RunTasks } from "../tasks/run-tasks.ts";
import type { ExecutorHost } from "./executor-host.ts";
import type { QueuedDraft } from "./message-draft.ts";

const NO_TASKS = { tasks: NONE, settled: NONE, dropTasks: false };

/** What one live run has others do: its tasks, its children, its messages to other runs. */
export class OutsideWork {
  readonly #host: ExecutorHost;
  readonly #run: OtherRunsOwner;
  readonly #tasks: RunTasks;
  /** Created when first needed: most runs have nothing to do with others. */
  #others: OtherRuns | undefined;

  constructor(host: ExecutorHost, run: OtherRunsOwner) {
    this.#host = host;
    this.#run = run;
    this.#tasks = new RunTasks(host, run);
  }

  get #otherRuns(): OtherRuns | undefined {
    if (!this.#others && this.#run.machine.hasCalls) this.#others = new OtherRuns(this.#host, this.#run);
    return this.#others;
  }

  /** What a commit with these events does about it. `results`: the consumed messages among them. */
  gather(events: readonly HistoryEvent[], transition: Transition, results: readonly number[]): GatheredWork {
    const { machine } = this.#run;
    const tasks = machine.hasTasks || machine.replaying ? this.#tasks.gather(events, transition) : NO_TASKS;
    return { ...tasks, results, closes: closedBy(events) };
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
    this.#tasks.attend(written);
    this.#otherRuns?.startDue();
  }

  /** Whether the run should stay here, because an answer may come at any moment. */
  holding(): boolean {
    return this.#tasks.holding() || (this.#otherRuns?.holding() ?? false);
  }

  /** Whether a call about another run is not answered yet. */
  get calling(): boolean {
    return this.#others?.calling ?? false;
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
  }

  /** The run is no longer here. */
  leave(): void {
    this.#tasks.leave();
    this.#others?.leave();
  }
}
