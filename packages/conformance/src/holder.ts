import type {
  Attributes,
  CommitOutcome,
  CommitRunsResult,
  HistoryEvent,
  NewTask,
  RunCommit,
  RunRow,
  Store,
  TaskKey,
  Transition,
} from "holdfast/adapter";
import { HOLD, someEvents } from "./sample-data.ts";
import { newTask, taskEvent } from "./sample-tasks.ts";

export interface CommitFields
  extends Pick<RunCommit, "tasks" | "settled" | "dropTasks" | "results" | "closes" | "replies" | "locks" | "unlocks"> {
  /** The number of sample events, or the events themselves. */
  readonly events?: number | readonly HistoryEvent[];
  readonly consumed?: number;
  readonly attributes?: Attributes;
  readonly clearDeadline?: boolean;
}

/** What a worker knows about a run that it holds: it makes commits with the right numbers and keeps count. */
export class Holder {
  readonly namespace: string;
  readonly workerId: string;
  readonly runId: string;
  readonly #store: Store;
  epoch: number;
  commitNumber: number;
  eventCount: number;
  consumed: number;

  constructor(store: Store, workerId: string, run: RunRow) {
    this.#store = store;
    this.namespace = run.namespace;
    this.workerId = workerId;
    this.runId = run.runId;
    this.epoch = run.epoch;
    this.commitNumber = run.commit;
    this.eventCount = run.eventCount;
    this.consumed = run.consumed;
  }

  /** The next commit, not sent yet. */
  draft(transition: Transition, fields: CommitFields = {}): RunCommit {
    const { events: given = 0, tasks, settled, dropTasks, results, closes, replies, locks, unlocks } = fields;
    const events = typeof given === "number" ? someEvents(this.eventCount, given) : given;
    return {
      namespace: this.namespace,
      runId: this.runId,
      workerId: this.workerId,
      epoch: this.epoch,
      commit: this.commitNumber,
      events,
      eventCount: events.at(-1)?.seq ?? this.eventCount,
      consumed: fields.consumed ?? this.consumed,
      attributes: fields.attributes ?? null,
      clearDeadline: fields.clearDeadline ?? false,
      ...(tasks && { tasks }),
      ...(settled && { settled }),
      ...(dropTasks !== undefined && { dropTasks }),
      ...(results && { results }),
      ...(closes && { closes }),
      ...(replies && { replies }),
      ...(locks && { locks }),
      ...(unlocks && { unlocks }),
      transition,
    };
  }

  /** The next commit, with the events that schedule these tasks; not sent yet. */
  draftTasks(
    tasks: readonly Partial<NewTask>[],
    transition: Transition = HOLD,
    fields: Omit<CommitFields, "events" | "tasks"> = {},
  ): RunCommit {
    const scheduled = tasks.map((task, i) => newTask(this.eventCount + 1 + i, task));
    return this.draft(transition, { ...fields, events: scheduled.map((task) => taskEvent(task)), tasks: scheduled });
  }

  /** Schedules tasks and keeps holding the run. */
  async schedule(tasks: readonly Partial<NewTask>[]): Promise<TaskKey[]> {
    const commit = this.draftTasks(tasks);
    const { outcome } = await this.send(commit);
    if (outcome !== "written") throw new Error(`the commit that schedules tasks was answered ${outcome}`);
    return commit.events.map(({ seq }) => ({ runId: this.runId, seq }));
  }

  /** Sends the next commit. */
  async commit(transition: Transition, fields: CommitFields = {}): Promise<CommitOutcome> {
    return this.send(this.draft(transition, fields));
  }

  async send(commit: RunCommit): Promise<CommitOutcome> {
    return (await this.answerTo(commit)).outcomes[0] as CommitOutcome;
  }

  /** The whole answer of the store. */
  async answerTo(commit: RunCommit): Promise<CommitRunsResult> {
    const result = await this.#store.runs.commit({ commits: [commit] });
    if (result.outcomes[0]?.outcome === "written") this.follow(commit);
    return result;
  }

  /** Keeps count of a commit that the store has accepted. */
  follow(commit: RunCommit): void {
    this.commitNumber = commit.commit + (commit.transition.type === "append" ? 0 : 1);
    this.eventCount = Math.max(this.eventCount, commit.events.at(-1)?.seq ?? 0);
    this.consumed = commit.consumed;
  }
}
