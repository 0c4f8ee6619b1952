import type {
  BeatTasksResult,
  CancelTasksResult,
  ClaimTasksParams,
  ClaimTasksResult,
  FinishOutcome,
  FinishTask,
  NewRun,
  NewTask,
  Payload,
  Store,
  Task,
  TaskBeat,
  TaskFinisher,
  TaskKey,
  TaskResult,
} from "holdfast/adapter";
import type { Fixture } from "./fixture.ts";
import type { Holder } from "./holder.ts";
import { byHolder } from "./sample-tasks.ts";

/** A run that its worker still holds, and a task of it. */
export interface ScheduledTask {
  readonly holder: Holder;
  readonly key: TaskKey;
}

/** A task that a worker has claimed; the run that scheduled it is held by another one. */
export interface HeldTaskOfRun extends ScheduledTask {
  readonly task: Task;
  readonly workerId: string;
}

/** The calls about tasks that most cases make. */
export class TaskCalls {
  readonly #fixture: Fixture;
  readonly #store: Store;

  constructor(fixture: Fixture) {
    this.#fixture = fixture;
    this.#store = fixture.store;
  }

  /** A task of a new run, which its worker keeps holding; that worker lives long. */
  async scheduled(fields: Partial<NewTask> = {}, runFields: Partial<NewRun> = {}): Promise<ScheduledTask> {
    const { namespace = "default" } = runFields;
    const workerId = await this.#fixture.worker({ namespace, leaseMs: 100_000_000 });
    const holder = await this.#fixture.held(runFields, workerId);
    const [key] = await holder.schedule([fields]);
    return { holder, key: key as TaskKey };
  }

  /** A task that a new worker, or the given one, has claimed. */
  async held(fields: Partial<NewTask> = {}, workerId?: string): Promise<HeldTaskOfRun> {
    const scheduled = await this.scheduled(fields);
    const { name = "mail", queue = "default", requires = [] } = fields;
    const claimant = workerId ?? (await this.#fixture.worker());
    const task = await this.claimOne(claimant, { names: [name], queues: [queue], labels: requires });
    return { ...scheduled, task, workerId: claimant };
  }

  claimParams(workerId: string, fields: Partial<ClaimTasksParams> = {}): ClaimTasksParams {
    return {
      workerId,
      claimId: this.#fixture.newId(),
      again: false,
      namespace: "default",
      queues: ["default"],
      names: ["mail"],
      labels: [],
      limit: 100,
      solo: false,
      ...fields,
    };
  }

  claim(workerId: string, fields: Partial<ClaimTasksParams> = {}): Promise<ClaimTasksResult> {
    return this.#store.tasks.claim(this.claimParams(workerId, fields));
  }

  /** Claims what is due and expects exactly one task. */
  async claimOne(workerId: string, fields: Partial<ClaimTasksParams> = {}): Promise<Task> {
    const { tasks } = await this.claim(workerId, fields);
    const task = tasks[0];
    if (!task || tasks.length > 1) throw new Error(`the claim took ${tasks.length} tasks instead of one`);
    return task;
  }

  /** By its holder, unless someone else is named. */
  finishParams(task: Task, result: TaskResult, by?: TaskFinisher): FinishTask {
    const { namespace, runId, seq, epoch } = task;
    return { namespace, runId, seq, epoch, by: by ?? byHolder(task.heldBy ?? this.#fixture.newId()), result };
  }

  async finish(task: Task, result: TaskResult, by?: TaskFinisher): Promise<FinishOutcome["outcome"]> {
    const { outcomes } = await this.#store.tasks.finish({ finishes: [this.finishParams(task, result, by)] });
    return (outcomes[0] as FinishOutcome).outcome;
  }

  async beat(
    task: Task,
    details: Payload | null = null,
    by?: TaskBeat["by"],
  ): Promise<BeatTasksResult["outcomes"][number]> {
    const { namespace, runId, seq, epoch } = task;
    const beat = { namespace, runId, seq, epoch, by: by ?? byHolder(task.heldBy ?? this.#fixture.newId()), details };
    return (await this.#store.tasks.beat({ beats: [beat] })).outcomes[0] as BeatTasksResult["outcomes"][number];
  }

  async cancel(key: TaskKey, namespace = "default"): Promise<CancelTasksResult["outcomes"][number]["outcome"]> {
    const { runId, seq } = key;
    const { outcomes } = await this.#store.tasks.cancel({ namespace, tasks: [{ runId, seq }] });
    return (outcomes[0] as CancelTasksResult["outcomes"][number]).outcome;
  }

  /** The task as stored now; null if there is none. */
  async find({ runId, seq }: TaskKey, namespace = "default"): Promise<Task | null> {
    return (await this.#store.tasks.read({ namespace, tasks: [{ runId, seq }] }))[0] as Task | null;
  }

  /** The task as stored now; it must exist. */
  async read(key: TaskKey, namespace = "default"): Promise<Task> {
    const task = await this.find(key, namespace);
    if (!task) throw new Error(`there is no task ${key.seq} of run ${key.runId}`);
    return task;
  }

  /** The seqs of all tasks of a run. */
  async seqsOf(runId: string, namespace = "default"): Promise<readonly number[]> {
    return (await this.#store.tasks.list({ namespace, runId, limit: 1_000 })).map(({ seq }) => seq);
  }
}
