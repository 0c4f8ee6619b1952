import type { Run, Task, WorkerRow } from "holdfast/adapter";
import { uuidOf } from "../fixture.ts";
import { START_MS } from "../sample-data.ts";
import type { Call } from "./call.ts";
import type { Contents, KnownIds } from "./contents.ts";

export const NAMESPACES = ["default", "other"];
export const IDS = ["a", "b", "c", "d"];

const EMPTY: Contents = {
  runs: [],
  histories: {},
  inboxes: {},
  newest: {},
  workers: [],
  held: {},
  heldTasks: {},
  tasks: [],
  versions: [],
};

/**
 * What a trial knows when it makes the next call: the time, the contents of the memory store, and the ids used so far.
 */
export class World {
  now = START_MS;
  contents: Contents = EMPTY;
  /** Calls that may change something, oldest first. */
  readonly calls: Call[] = [];
  readonly runIds: string[] = [];
  /** Runs that existed once and are gone. */
  readonly purged = new Set<string>();
  readonly workerIds: string[] = [];
  readonly messageIds: string[] = [];
  /** Short names for printed ids. */
  readonly names = new Map<string, string>();
  #ids = 0;

  /** A new world without any calls, in which the same ids are known. */
  again(): World {
    const world = new World();
    world.runIds.push(...this.runIds);
    world.workerIds.push(...this.workerIds);
    for (const [id, name] of this.names) world.names.set(id, name);
    return world;
  }

  /** The present contents of the memory store. */
  note(contents: Contents): void {
    const left = new Set(contents.runs.map(({ runId }) => runId));
    for (const { runId } of this.contents.runs) if (!left.has(runId)) this.purged.add(runId);
    this.contents = contents;
  }

  get known(): KnownIds {
    const ids = NAMESPACES.flatMap((namespace) => IDS.map((id) => ({ namespace, id })));
    return { namespaces: NAMESPACES, ids, runIds: this.runIds, workerIds: this.workerIds };
  }

  newRunId(): string {
    const runId = this.#newId(`run#${this.runIds.length + 1}`);
    this.runIds.push(runId);
    return runId;
  }

  newWorkerId(): string {
    const workerId = this.#newId(`worker#${this.workerIds.length + 1}`);
    this.workerIds.push(workerId);
    return workerId;
  }

  newMessageId(): string {
    const messageId = `message ${this.messageIds.length + 1}`;
    this.messageIds.push(messageId);
    return messageId;
  }

  newClaimId(): string {
    return this.#newId(`claim#${this.#ids + 1}`);
  }

  newFinishId(): string {
    return this.#newId(`finish#${this.#ids + 1}`);
  }

  /** An id that does not exist. */
  strangeId(): string {
    return this.#newId("nobody");
  }

  get heldRuns(): readonly Run[] {
    return this.contents.runs.filter((run) => run.heldBy !== null);
  }

  get heldTasks(): readonly Task[] {
    return this.contents.tasks.filter((task) => task.heldBy !== null);
  }

  get liveWorkers(): readonly WorkerRow[] {
    return this.contents.workers.filter((worker) => worker.status !== "offline");
  }

  #newId(name: string): string {
    this.#ids += 1;
    const id = uuidOf(this.#ids);
    this.names.set(id, name);
    return id;
  }
}
