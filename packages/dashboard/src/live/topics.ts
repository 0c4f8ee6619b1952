/** One look at the store for each topic that somebody watches, however many watch it; slower while nothing happens. */
import { type Client, type ClientStore, type Hint, isHoldfastError, type Timer } from "holdfast/adapter";
import type { LiveMessage } from "../api/api-messages.ts";
import { isRunId } from "../reads/listed-rows.ts";

export type Listener = (message: LiveMessage) => void;

const LOOK_MS = 1_000;
const QUIET_LOOK_MS = 5_000;
/** After so many looks without news it is quiet. */
const QUIET_AFTER = 10;
const ROWS = 50;

interface Topic {
  readonly listeners: Set<Listener>;
  /** What was seen last; undefined before the first look. */
  seen: Map<string, string> | undefined;
  quiet: number;
  /** The store did not answer the last look. */
  away: boolean;
  timer: Timer | undefined;
  looking: boolean;
  again: boolean;
}

/** The topics of one namespace. */
export class Topics {
  readonly #store: ClientStore;
  readonly #view: Client;
  readonly #topics = new Map<string, Topic>();
  #unsubscribe: (() => void) | undefined;
  readonly #watched = new Map<string, () => void>();

  constructor(store: ClientStore, view: Client) {
    this.#store = store;
    this.#view = view;
  }

  /** Returns the function that ends it. */
  watch(name: string, listener: Listener): () => void {
    const topic = this.#topics.get(name) ?? this.#open(name);
    topic.listeners.add(listener);
    if (topic.away) listener(awayFrom(name));
    else if (topic.seen) for (const message of stateOf(name, topic.seen)) listener(message);
    return () => {
      topic.listeners.delete(listener);
      if (topic.listeners.size > 0 || this.#topics.get(name) !== topic) return;
      topic.timer?.cancel();
      this.#topics.delete(name);
      this.#watched.get(name)?.();
      this.#watched.delete(name);
      if (this.#topics.size === 0) this.close();
    };
  }

  close(): void {
    for (const { timer } of this.#topics.values()) timer?.cancel();
    for (const forget of this.#watched.values()) forget();
    this.#topics.clear();
    this.#watched.clear();
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  #open(name: string): Topic {
    const topic: Topic = {
      listeners: new Set(),
      seen: undefined,
      quiet: 0,
      away: false,
      timer: undefined,
      looking: false,
      again: false,
    };
    this.#topics.set(name, topic);
    this.#unsubscribe ??= this.#store.notifier.subscribe((hint) => this.#hinted(hint));
    const runId = runOf(name);
    const forget = runId === undefined ? undefined : this.#store.notifier.watch?.([runId]);
    if (forget) this.#watched.set(name, forget);
    void this.#look(name, topic);
    return topic;
  }

  /** Something has happened that concerns these topics: look now. */
  #hinted(hint: Hint): void {
    if ("namespace" in hint && hint.namespace !== this.#view.namespace) return;
    for (const [name, topic] of this.#topics) if (concerns(hint, name)) this.#soon(name, topic);
  }

  #soon(name: string, topic: Topic): void {
    if (topic.looking) topic.again = true;
    else if (topic.seen !== undefined) {
      topic.timer?.cancel();
      topic.timer = this.#store.clock.setTimer(0, () => void this.#look(name, topic));
    }
  }

  #tell(topic: Topic, message: LiveMessage): void {
    for (const tell of topic.listeners) tell(message);
  }

  async #look(name: string, topic: Topic): Promise<void> {
    topic.looking = true;
    topic.again = false;
    try {
      const now = await lookAt(this.#view, name);
      if (topic.away) {
        topic.away = false;
        this.#tell(topic, { type: "resync", topics: [name], reason: "The store did not answer for a while." });
      }
      const news = topic.seen === undefined ? stateOf(name, now) : newsOf(name, topic.seen, now);
      topic.seen = now;
      topic.quiet = news.length > 0 ? 0 : topic.quiet + 1;
      for (const message of news) this.#tell(topic, message);
    } catch (error) {
      // Whoever looks is told, and told again when it answers: what happens meanwhile is a gap.
      this.#store.log.debug({ topic: name, error: String(error) }, "a topic of the dashboard could not be read");
      topic.seen ??= new Map();
      if (!topic.away) this.#tell(topic, awayFrom(name));
      topic.away = true;
    } finally {
      topic.looking = false;
      if (this.#topics.get(name) === topic) {
        const waitMs = topic.again ? LOOK_MS / 4 : topic.quiet > QUIET_AFTER ? QUIET_LOOK_MS : LOOK_MS;
        const timer = this.#store.clock.setTimer(waitMs, () => void this.#look(name, topic));
        timer.unref?.();
        topic.timer = timer;
      }
    }
  }
}

function awayFrom(name: string): LiveMessage {
  return { type: "away", topics: [name], reason: "The store does not answer." };
}

export function isTopic(name: string): boolean {
  return runOf(name) !== undefined || PLAIN_TOPICS.has(name);
}

/** Who looks. Nothing in the store is watched for it: a stream tells of it when it ends. */
export const SESSION_TOPIC = "session";

const PLAIN_TOPICS: ReadonlySet<string> = new Set([
  SESSION_TOPIC,
  "runs",
  "schedules",
  "queues",
  "workers",
  "tasks",
  "overview",
  "batches",
]);

function runOf(name: string): string | undefined {
  return name.startsWith("run:") && name.length > 4 ? name.slice(4) : undefined;
}

function concerns(hint: Hint, name: string): boolean {
  const runId = runOf(name);
  if (runId !== undefined) return "runId" in hint && hint.runId === runId;
  if (hint.type === "schedule") return name === "schedules";
  if (hint.type === "task_due" || hint.type === "task") return name === "tasks" || name === "queues";
  if (hint.type === "due") return name === "runs" || name === "queues" || name === "overview";
  return hint.type === "ended" && (name === "runs" || name === "overview" || name === "batches");
}

/** What there is now, each thing with what would change if it changed. */
async function lookAt(view: Client, name: string): Promise<Map<string, string>> {
  const runId = runOf(name);
  if (runId !== undefined) {
    const handle = isRunId(runId) ? view.get({ runId }) : view.get(runId);
    const found = await handle.describe().catch(undefinedIfGone);
    if (!found) return new Map();
    const { status, historyLength, id, updatedAt, workerId, runId: own } = found;
    return new Map([[own, JSON.stringify([status, historyLength, id, updatedAt, workerId])]]);
  }
  if (name === "schedules") {
    const { schedules } = await view.schedules.list({ limit: 200 });
    return new Map(schedules.map((one) => [one.id, JSON.stringify([one.nextAt, one.paused, one.openId, one.lastAt])]));
  }
  if (name === "queues") return new Map((await view.queues.list()).map((one) => [one.name, JSON.stringify(one)]));
  if (name === "workers") {
    const rows = await view.workers.list();
    return new Map(rows.map((one) => [one.workerId, JSON.stringify([one.status, one.activeRuns, one.drainAsked])]));
  }
  if (name === "tasks") {
    const { tasks } = await view.tasks.list({ limit: ROWS });
    return new Map(tasks.map((one) => [`${one.runId} ${one.op}`, JSON.stringify([one.status, one.attempt])]));
  }
  const filter = name === "batches" ? { workflow: "holdfast.batch" } : {};
  const { runs } = await view.list({ ...filter, limit: ROWS });
  const rows = runs.map(({ runId: run, id, status, historyLength, updatedAt }): [string, string] => [
    run,
    JSON.stringify([status, historyLength, id, updatedAt]),
  ]);
  return new Map(rows);
}

function undefinedIfGone(error: unknown): undefined {
  if (!isHoldfastError(error, "run_not_found")) throw error;
}

/** Of a single run, where it stands: whoever has read it before may have missed the last change. */
function stateOf(topic: string, now: ReadonlyMap<string, string>): LiveMessage[] {
  return runOf(topic) === undefined ? [] : newsOf(topic, new Map(), now);
}

function newsOf(topic: string, before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): LiveMessage[] {
  const changed = [...now].filter(([key, value]) => before.get(key) !== value);
  const gone = topic === "runs" || topic === "overview" ? 0 : [...before.keys()].filter((key) => !now.has(key)).length;
  const isRuns = topic === "runs" || topic === "batches" || topic.startsWith("run:");
  if (!isRuns) return changed.length + gone > 0 ? [{ type: "hint", topic }] : [];
  return changed.map(([runId, value]) => {
    const [status, seq, id] = JSON.parse(value) as [string, number, string];
    return { type: "hint", topic, runId, id, seq, status };
  });
}
