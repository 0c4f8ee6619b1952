/**
 * The store calls that tasks need, without an engine: for runs of tasks that their own process executes, and for runs of tasks
 * that another one does.
 */
import type { FinishTask, HistoryEvent, NewTask, RunRow, Task, Transition } from "holdfast/adapter";
import { type BareLoop, END, HOLD, newId, RESULT } from "./bare-loop.ts";

const INPUT = new TextEncoder().encode('{"id":"w-1000","i":1}');
const WAIT: Transition = { type: "suspend", status: "waiting", availableAt: null, waitingFor: ["task work"] };
const SECRET = "0123456789abcdef".repeat(2);

/** Where a task waits, and for whom. */
export type Place = Pick<NewTask, "name" | "queue" | "requires">;

export const HERE: Place = { name: "bare", queue: "default", requires: [] };

export class BareTasks {
  readonly #loop: BareLoop;
  readonly #claimId = newId();

  constructor(loop: BareLoop) {
    this.#loop = loop;
  }

  /** Runs of n tasks, each held from the beginning and settled by the commit that schedules the next one. */
  async besideRuns(size: number, tasks: number): Promise<void> {
    const runs = await this.#loop.start(size, true);
    const holdBy = { workerId: this.#loop.workerId, claimId: this.#claimId };
    for (let i = 0; i <= tasks; i++) {
      const next = i < tasks;
      const settled = i === 0 ? [] : [2 * i - 1];
      await this.#commit(runs, i, {
        events: eventsOf(i, next),
        tasks: next ? [newTask(2 * i + 1, HERE, holdBy)] : [],
        settled,
        transition: next ? HOLD : END,
      });
    }
  }

  /** Runs of n tasks, each claimed and finished on its own, while its run waits. */
  async elsewhere(size: number, tasks: number): Promise<void> {
    let runs: readonly Held[] = await this.#loop.start(size, true);
    for (let i = 0; i <= tasks; i++) {
      const next = i < tasks;
      await this.#commit(runs, i, {
        events: eventsOf(i, next),
        tasks: next ? [newTask(2 * i + 1, HERE, null)] : [],
        consumed: i,
        results: i === 0 ? [] : [i],
        transition: next ? WAIT : END,
      });
      if (!next) return;
      await this.finish(await this.claim(size));
      runs = await this.#loop.claimRuns(size);
      if (runs.length !== size) throw new Error("the bare loop did not get its runs back");
    }
  }

  /** Due tasks of one run, which waits for all of them. */
  async add(count: number, place: (i: number) => Place): Promise<void> {
    const runs = await this.#loop.start(1, true);
    const events = Array.from({ length: count }, (_, i) => event(i + 1, "task_scheduled"));
    const tasks = events.map(({ seq }, i) => newTask(seq, place(i), null));
    await this.#commit(runs, 0, { events, tasks, transition: WAIT });
  }

  async claim(limit: number): Promise<readonly Task[]> {
    const { workerId, store } = this.#loop;
    const worker = { workerId, namespace: "default", queues: [HERE.queue], names: [HERE.name], labels: [] };
    return (await store.tasks.claim({ ...worker, claimId: newId(), again: false, limit, solo: false })).tasks;
  }

  async finish(tasks: readonly Task[]): Promise<void> {
    const { workerId, store } = this.#loop;
    const finishes = tasks.map(
      ({ namespace, runId, seq, epoch }): FinishTask => ({
        ...{ namespace, runId, seq, epoch },
        by: { type: "holder", workerId },
        result: { type: "completed", payload: RESULT },
      }),
    );
    const { outcomes } = await store.tasks.finish({ finishes });
    if (outcomes.some(({ outcome }) => outcome !== "done")) throw new Error("the bare loop lost a task");
  }

  async #commit(
    runs: readonly Held[],
    commit: number,
    what: Partial<Commit> & Pick<Commit, "transition">,
  ): Promise<void> {
    const { workerId, store } = this.#loop;
    const nothing = { consumed: 0, attributes: null, clearDeadline: false, events: [] } as const;
    const commits = runs.map(({ namespace, runId, epoch }) => ({
      ...{ namespace, runId, workerId, epoch, commit },
      ...nothing,
      ...what,
      eventCount: what.events?.at(-1)?.seq ?? 0,
    }));
    const { outcomes } = await store.runs.commit({ commits });
    if (outcomes.some(({ outcome }) => outcome !== "written")) throw new Error("the bare loop lost a run");
  }
}

type Held = Pick<RunRow, "namespace" | "runId" | "epoch">;

interface Commit {
  readonly events: readonly HistoryEvent[];
  readonly tasks: readonly NewTask[];
  readonly settled: readonly number[];
  readonly results: readonly number[];
  readonly consumed: number;
  readonly transition: Transition;
}

/** The end of a task, and the next one in the same turn. */
function eventsOf(i: number, next: boolean): HistoryEvent[] {
  const ended = i === 0 ? [] : [event(2 * i, "task_completed")];
  return next ? [...ended, event(2 * i + 1, "task_scheduled")] : ended;
}

function event(seq: number, type: "task_scheduled" | "task_completed"): HistoryEvent {
  const about = { seq, type, op: `work#${(seq + 1) >> 1}`, at: Date.now() };
  return type === "task_completed"
    ? { ...about, payload: RESULT }
    : { ...about, payload: INPUT, meta: { task: { name: HERE.name } } };
}

function newTask(seq: number, place: Place, holdBy: NewTask["holdBy"]): NewTask {
  const limits = { timeoutMs: null, startTimeoutMs: null, totalTimeoutMs: null, heartbeatMs: null };
  const rest = { priority: 0, external: false, failOnCrash: false, secret: SECRET, ...limits };
  return { seq, inputSeq: seq, op: `work#${(seq + 1) >> 1}`, ...place, ...rest, holdBy };
}
