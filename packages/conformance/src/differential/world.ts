import type { Run, WorkerRow } from "holdfast/adapter";
import { uuidOf } from "../fixture.ts";
import { START_MS } from "../sample-data.ts";
import type { Call } from "./call.ts";
import type { Contents, KnownIds } from "./contents.ts";

export const NAMESPACES = ["default", "other"];
export const IDS = ["a", "b", "c", "d"];

const EMPTY: Contents = { runs: [], histories: {}, inboxes: {}, newest: {}, workers: [], held: {}, versions: [] };

/** What a trial knows when it makes up the next call: the time, what the oracle contains, and which ids were used. */
export class World {
  now = START_MS;
  contents: Contents = EMPTY;
  /** Calls that may change something, oldest first. */
  readonly calls: Call[] = [];
  readonly runIds: string[] = [];
  /** Runs that were there and are no more. */
  readonly purged = new Set<string>();
  readonly workerIds: string[] = [];
  readonly messageIds: string[] = [];
  /** Short names for ids, to be printed. */
  readonly names = new Map<string, string>();
  #ids = 0;

  /** A world in which nothing has happened yet, but the same ids are known. */
  again(): World {
    const world = new World();
    world.runIds.push(...this.runIds);
    world.workerIds.push(...this.workerIds);
    for (const [id, name] of this.names) world.names.set(id, name);
    return world;
  }

  /** What the oracle contains now. */
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

  /** An id that nothing has. */
  strangeId(): string {
    return this.#newId("nobody");
  }

  get heldRuns(): readonly Run[] {
    return this.contents.runs.filter((run) => run.heldBy !== null);
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
