/**
 * Follows whoever is inside of a queue with limits, by an account of its own: a run is inside from when a worker first holds it to its
 * end, a task while a worker holds it. Nothing here reads the places, the lines or the counters of the store.
 */
import type { MemoryState, RunRecord } from "../../packages/holdfast/src/memory/state.ts";
import type { TaskRecord } from "../../packages/holdfast/src/memory/tasks/task-record.ts";
import { fitsTask } from "../../packages/holdfast/src/model/decisions/task.ts";
import {
  ADMITTED_MAX,
  QUEUE_KINDS,
  type QueueKind,
  type QueueLimits,
  type RateLimit,
} from "../../packages/holdfast/src/model/queue-limits.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import { waitsForPlace } from "../../packages/holdfast/src/model/waiting.ts";
import type { ClaimRunsParams, ClaimTasksParams, SetQueueParams } from "../../packages/holdfast/src/ports/store.ts";
import type { StoreMethod } from "../../packages/holdfast/src/ports/store-calls.ts";
import type { Found } from "../evidence.ts";
import { type Guest, Tokens } from "../limit-evidence.ts";
import type { Trace } from "../trace.ts";
import { LimitTurns } from "./limit-turns.ts";

const NAMESPACE = "default";

/** A queue with limits, for its runs or for its tasks. */
interface Watched {
  readonly kind: QueueKind;
  readonly queue: string;
  limits: QueueLimits;
  /** Those that are inside, by name, with their keys. */
  readonly inside: Map<string, string>;
  readonly tokens: Tokens;
  readonly tokensOf: Map<string, Tokens>;
  turns: LimitTurns;
}

/** A claim that has just taken effect. */
interface Claim {
  readonly kind: QueueKind;
  readonly queues: readonly string[];
  /** It could have taken more. */
  readonly hasRoom: boolean;
  serves(guest: Guest): boolean;
}

export class LimitWatch {
  /** More were let in than the limits allow. */
  readonly placeFaults: Found[] = [];
  /** Somebody waited who should not have, or longer than others who came later. */
  readonly lineFaults: Found[] = [];
  admissions = 0;
  readonly #state: MemoryState;
  readonly #trace: Trace;
  readonly #watched = new Map<string, Watched>();
  /** By queue: what its limits were set to last. */
  readonly #revisions = new Map<string, string>();
  #known = new Map<string, Guest>();

  constructor(state: MemoryState, trace: Trace) {
    this.#state = state;
    this.#trace = trace;
  }

  /** Notes what a call has just done. */
  note(at: number, now: number, who: string, method: StoreMethod, params: unknown, answer: Promise<unknown>): void {
    if (this.#watched.size === 0 && method !== "queues.setIfRevision") return;
    const guests = this.#guests(now);
    const before = this.#watched.size === 0 ? guests : this.#known;
    this.#known = guests;
    if (method === "queues.setIfRevision") this.#change(params as SetQueueParams, guests, now);
    for (const watched of this.#watched.values()) this.#leave(watched, guests);
    const admitted: Guest[] = [];
    for (const guest of guests.values()) {
      const was = before.get(guest.name);
      const moved = guest.waits !== was?.waits || guest.held !== was?.held;
      if (moved) this.#watched.get(`${guest.kind} ${guest.queue}`)?.turns.moved(guest, was);
      if (!guest.held || was?.held) continue;
      const watched = this.#watched.get(`${guest.kind} ${guest.queue}`);
      if (!watched || watched.inside.has(guest.name) || guest.windsUp) continue;
      this.#trace.add(at, who, guest.runId, `${method}: ${guest.name} enters ${guest.queue} (${guest.key})`);
      this.#admit(watched, guest, method, now);
      admitted.push(guest);
    }
    const claim = this.#claimOf(method, params, guests);
    for (const watched of this.#watched.values()) {
      if (!claim) {
        watched.turns.repeated(admitted.filter(({ kind, queue }) => kind === watched.kind && queue === watched.queue));
        continue;
      }
      if (watched.kind !== claim.kind || !claim.queues.includes(watched.queue)) continue;
      const own = admitted.filter(({ queue }) => queue === watched.queue);
      this.#judge(watched, claim, guests, own, now, answer);
    }
  }

  /** The end, when nothing happens any more. `settled`: all runs have ended. */
  close(settled: boolean): void {
    if (!settled) return;
    const { places, inLine, limited } = this.#state;
    for (const { runId, seq } of places.values()) this.#line(runId, `${seq} has a place, although all is over`);
    for (const { runId, seq } of inLine.values()) this.#line(runId, `${seq} is in line, although all is over`);
    for (const { kind, queue, state, keys } of limited.values()) {
      const counted = [state, ...keys.values()].find(({ running }) => running !== 0);
      if (counted)
        this.lineFaults.push({ text: `${kind} of ${queue}: ${counted.running} are counted, and all is over` });
    }
  }

  /** A copy of an earlier call, or one that was made for limits which the queue has no more, changes nothing. */
  #change(params: SetQueueParams, guests: ReadonlyMap<string, Guest>, now: number): void {
    const { namespace, queue, limits, revision, next } = params;
    if (namespace !== NAMESPACE) return;
    const known = this.#revisions.get(queue) ?? null;
    const changes = known === revision && known !== next;
    if (changes) this.#revisions.set(queue, next);
    const stored = this.#state.queueRevisions.get(`${namespace}\n${queue}`) ?? null;
    if (stored !== (changes ? next : known))
      this.lineFaults.push({
        text: `the limits of ${queue} were set by a call for ${revision}, but they were ${known}`,
      });
    if (!changes) return;
    for (const kind of QUEUE_KINDS) {
      const name = `${kind} ${queue}`;
      const known = this.#watched.get(name);
      if (limits === null) this.#watched.delete(name);
      else if (known) {
        known.limits = limits;
        known.tokens.change(limits.rate, now);
        for (const [key, own] of known.tokensOf) own.change(rateOf(limits, key), now);
        known.turns.changed(limits);
      } else {
        const inside = [...guests.values()].filter(
          (one) => one.kind === kind && one.queue === queue && this.#begun(one),
        );
        this.#watched.set(name, {
          kind,
          queue,
          limits,
          inside: new Map(inside.map((one) => [one.name, one.key])),
          tokens: new Tokens(limits.rate, now),
          tokensOf: new Map(),
          turns: new LimitTurns(limits, (runId, text) => this.#line(runId, text)),
        });
      }
    }
  }

  #begun({ kind, over, runId }: Guest): boolean {
    return !over && (kind === "tasks" || this.#state.runs.get(runId)?.startedAt !== null);
  }

  #leave({ kind, inside }: Watched, guests: ReadonlyMap<string, Guest>): void {
    for (const [name, key] of inside) {
      const guest = guests.get(name);
      if (guest && !guest.over) continue;
      inside.delete(name);
      // Whoever continues has the place.
      const next = kind === "runs" ? this.#state.runs.get(name)?.continuedAs : undefined;
      if (next && guests.get(next)?.over === false) inside.set(next, key);
    }
  }

  #admit(watched: Watched, { name, runId, key }: Guest, method: StoreMethod, now: number): void {
    const { inside, limits, tokens, queue } = watched;
    const wrong = (text: string): void => void this.placeFaults.push({ runId, text: `${name} ${text}` });
    if (method !== "runs.claim" && method !== "tasks.claim") wrong(`was let into ${queue} by ${method}`);
    const ofKey = [...inside.values()].filter((other) => other === key).length;
    const own = key === "" ? {} : (limits.perKey ?? {});
    if (inside.size >= (limits.concurrency ?? Number.POSITIVE_INFINITY))
      wrong(`was let into ${queue} beside ${inside.size} others; the limit is ${limits.concurrency}`);
    if (ofKey >= (own.concurrency ?? Number.POSITIVE_INFINITY))
      wrong(`was let into ${queue} beside ${ofKey} others of ${key}; the limit is ${own.concurrency}`);
    if (!tokens.take(now)) wrong(`was let into ${queue} faster than its rate allows`);
    if (!this.#tokensOf(watched, key, now).take(now))
      wrong(`was let into ${queue} faster than the rate of ${key} allows`);
    inside.set(name, key);
    this.admissions += 1;
  }

  #tokensOf({ tokensOf, limits }: Watched, key: string, now: number): Tokens {
    const known = tokensOf.get(key) ?? new Tokens(rateOf(limits, key), now);
    tokensOf.set(key, known);
    return known;
  }

  /** What a claim leaves behind, and whom it has let in first. */
  #judge(
    watched: Watched,
    claim: Claim,
    guests: ReadonlyMap<string, Guest>,
    own: readonly Guest[],
    now: number,
    answer: Promise<unknown>,
  ): void {
    const { kind, queue, turns, inside } = watched;
    const idle = [...guests.values()].filter(
      (one) => one.kind === kind && one.queue === queue && one.waits !== null && !inside.has(one.name),
    );
    const windingUp = idle.find((one) => one.windsUp && claim.serves(one));
    if (windingUp && claim.hasRoom)
      this.#line(windingUp.runId, `${windingUp.name} only winds up, but is left behind in ${queue}`);
    const left = idle.filter((one) => !one.windsUp);
    const served = left.filter((one) => claim.serves(one));
    const free = served.filter((one) => this.#hasPlace(watched, one));
    const ready = free.filter((one) => this.#tokensOf(watched, one.key, now).surely(now));
    turns.note({ admitted: own, left: served, ready, others: left.filter((one) => !claim.serves(one)), now });
    if (!claim.hasRoom || free.length === 0) return;
    const tokenAt = (one: Guest): number =>
      Math.max(watched.tokens.surelyAt(now), this.#tokensOf(watched, one.key, now).surelyAt(now));
    const [first] = free.sort((a, b) => tokenAt(a) - tokenAt(b)) as [Guest, ...Guest[]];
    const at = tokenAt(first);
    // A claim lets in so many of a queue, and asks again at once.
    const cut = own.length >= ADMITTED_MAX;
    if (at <= now && !cut)
      return this.#line(first.runId, `${first.name} is left behind in ${queue}, although it can go in`);
    void answer.then((result) => {
      const { nextDueAt } = result as { readonly nextDueAt: number | null };
      if (nextDueAt === null || nextDueAt > Math.max(at, now) + 1)
        this.#line(first.runId, `${first.name} has a token in ${queue} at ${at}, but nobody asks before ${nextDueAt}`);
    });
  }

  #hasPlace({ inside, limits }: Watched, { key }: Guest): boolean {
    const ofKey = [...inside.values()].filter((other) => other === key).length;
    const own = key === "" ? undefined : limits.perKey?.concurrency;
    return inside.size < (limits.concurrency ?? Infinity) && ofKey < (own ?? Infinity);
  }

  #claimOf(method: StoreMethod, params: unknown, guests: ReadonlyMap<string, Guest>): Claim | undefined {
    if (method !== "runs.claim" && method !== "tasks.claim") return undefined;
    const { workerId, claimId, namespace, queues, limit, solo, again } = params as ClaimRunsParams;
    const { workers, runs, tasks } = this.#state;
    if (namespace !== NAMESPACE || solo || again || workers.get(workerId)?.status === "offline") return undefined;
    const all: Iterable<RunRecord | TaskRecord> = method === "runs.claim" ? runs.values() : tasks.values();
    const taken = [...all].filter((one) => one.heldBy === workerId && one.claimId === claimId).length;
    const isOf = new Set((params as Partial<ClaimRunsParams>).handlers?.map((one) => `${one.workflow}@${one.version}`));
    const serves = ({ name, runId }: Guest): boolean => {
      const { workflow, version } = runs.get(runId) as RunRecord;
      if (method === "runs.claim") return isOf.has(`${workflow}@${version}`);
      return fitsTask(tasks.get(name) as TaskRecord, params as ClaimTasksParams);
    };
    return {
      kind: method === "runs.claim" ? "runs" : "tasks",
      queues,
      hasRoom: taken < limit && guests.size > 0,
      serves,
    };
  }

  #guests(now: number): Map<string, Guest> {
    const guests = new Map<string, Guest>();
    const { runs, tasks } = this.#state;
    for (const row of runs.values()) if (row.namespace === NAMESPACE) guests.set(row.runId, this.#runGuest(row, now));
    for (const [name, task] of tasks)
      if (task.namespace === NAMESPACE) guests.set(name, this.#taskGuest(name, task, now));
    return guests;
  }

  #runGuest(row: RunRecord, now: number): Guest {
    const { runId, queue, key, priority, heldBy, status, availableAt, deadlineAt, consumed } = row;
    const isCanceled = (this.#state.inbox.get(runId) ?? []).some(
      (one) => one.number > consumed && one.kind === "cancel",
    );
    const idle = heldBy === null && status !== "parked" && !row.suspect && !isClosed(status);
    const due = availableAt !== null && availableAt <= now;
    const lined = waitsForPlace(row.waitingFor) && !due;
    return {
      name: runId,
      runId,
      kind: "runs",
      queue,
      key: key ?? "",
      priority,
      held: heldBy !== null,
      over: isClosed(status),
      windsUp: isCanceled || (deadlineAt !== null && deadlineAt <= now),
      waits: idle ? (lined ? "line" : due ? "due" : null) : null,
      availableAt,
    };
  }

  #taskGuest(name: string, task: TaskRecord, now: number): Guest {
    const { runId, queue, key, priority, heldBy, status, availableAt, suspect, canceled, inLine } = task;
    const due = availableAt !== null && availableAt <= now;
    const idle = status === "due" && !suspect && !canceled;
    return {
      name,
      runId,
      kind: "tasks",
      queue,
      key: key ?? this.#state.runs.get(runId)?.key ?? "",
      priority,
      held: heldBy !== null,
      // One that has killed its workers is claimed alone, and keeps its place for that.
      over: heldBy === null && !(suspect && status !== "dead"),
      windsUp: false,
      waits: idle ? (due ? "due" : inLine ? "line" : null) : null,
      availableAt,
    };
  }

  #line(runId: string, text: string): void {
    this.lineFaults.push({ runId, text });
  }
}

/** What has no key is not limited per key. */
function rateOf({ perKey }: QueueLimits, key: string): RateLimit | undefined {
  return key === "" ? undefined : perKey?.rate;
}
