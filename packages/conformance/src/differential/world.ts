import type { Run, Task, WorkerRow } from "holdfast/adapter";
import { uuidOf } from "../fixture.ts";
import { START_MS } from "../sample-data.ts";
import type { Call } from "./call.ts";
import type { Contents, KnownIds } from "./contents.ts";
import { NO_TALKS } from "./talks/contents.ts";
import type { Subject } from "./weights.ts";

export const NAMESPACES = ["default", "other"];
/** How many updates and parents are looked at after every call: the last of them. */
const UPDATES_MAX = 5;
const PARENTS_MAX = 4;
export const IDS = ["a", "b", "c", "d"];
/** Ids that nobody starts: a fork needs one that no run has. */
export const FORK_IDS = ["k", "l", "m", "n"];
const MORE_IDS = [...IDS, "e", "f", "g"];

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
  ...NO_TALKS,
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
  /** Of updates; the newest of them. */
  readonly updateIds: string[] = [];
  readonly askIds: string[] = [];
  /** Runs that were named as a parent; the newest of them. */
  readonly parents: string[] = [];
  /** Children that a run may start, or has given up already. */
  readonly unborn: { readonly runId: string; readonly parent: Run }[] = [];
  /** The other store's numbers of the memory store's debts. */
  readonly debtNumbers = new Map<number, number>();
  /** Chains of which a run was purged. */
  readonly #purgedChains = new Set<string>();
  readonly about: Subject;
  /** Whether conversations are looked at. */
  readonly talkative: boolean;
  /** Whether schedules are. */
  readonly timed: boolean;
  /** Whether queues with limits are. */
  readonly limited: boolean;
  /** Short names for printed ids. */
  readonly names = new Map<string, string>();
  #ids = 0;

  constructor(about: Subject) {
    this.about = about;
    this.talkative = about === "conversations";
    this.timed = about === "schedules";
    this.limited = about === "limits";
  }

  /** A new world without any calls, in which the same ids are known. */
  again(): World {
    const world = new World(this.about);
    world.runIds.push(...this.runIds);
    world.workerIds.push(...this.workerIds);
    world.parents.push(...this.parents);
    world.updateIds.push(...this.updateIds);
    world.askIds.push(...this.askIds);
    for (const [id, name] of this.names) world.names.set(id, name);
    return world;
  }

  /** The present contents of the memory store. */
  note(contents: Contents): void {
    const left = new Set(contents.runs.map(({ runId }) => runId));
    for (const { runId, firstRunId } of this.contents.runs) {
      if (left.has(runId)) continue;
      this.purged.add(runId);
      this.#purgedChains.add(firstRunId);
    }
    this.contents = contents;
  }

  /** The ids of runs. Families need more of them. */
  get ids(): readonly string[] {
    return this.talkative || this.limited ? MORE_IDS : IDS;
  }

  get known(): KnownIds {
    const names = [...this.ids, ...FORK_IDS];
    const ids = NAMESPACES.flatMap((namespace) => names.map((id) => ({ namespace, id })));
    return {
      namespaces: NAMESPACES,
      ids,
      runIds: this.runIds,
      workerIds: this.workerIds,
      talks: this.talkative ? this : null,
      timed: this.timed,
      limited: this.limited,
    };
  }

  /** Whether the newest run of that id belongs to a chain of which a run was purged. */
  isPurged(idKey: string): boolean {
    const newest = this.contents.newest[idKey];
    const run = this.contents.runs.find(({ runId }) => runId === newest);
    return run !== undefined && this.#purgedChains.has(run.firstRunId);
  }

  noteUpdate(messageId: string): void {
    keepNewest(this.updateIds, messageId, UPDATES_MAX);
  }

  noteParent(runId: string): void {
    keepNewest(this.parents, runId, PARENTS_MAX);
  }

  newAskId(): string {
    const askId = this.#newId(`ask#${this.askIds.length + 1}`);
    this.askIds.push(askId);
    return askId;
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

  newRevision(): string {
    return this.#newId(`revision#${this.#ids + 1}`);
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

function keepNewest(items: string[], item: string, countMax: number): void {
  if (items.includes(item)) return;
  items.push(item);
  if (items.length > countMax) items.shift();
}
