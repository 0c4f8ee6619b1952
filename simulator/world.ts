/** The outside world: it records what steps do to it, and what the store knew at that moment. */
import { NonRetryableError } from "../packages/holdfast/src/errors/step-errors.ts";
import type { RunRecord } from "../packages/holdfast/src/memory/state.ts";
import type { HistoryEvent } from "../packages/holdfast/src/model/event.ts";
import { endsPause } from "../packages/holdfast/src/model/operator-notes.ts";
import { askTransaction } from "../packages/holdfast/src/replay/context/run-context.ts";
import type { Dice } from "./dice.ts";
import type { Effect, Entry } from "./evidence.ts";
import { locksInUse, lockView } from "./lock-evidence.ts";
import { never, type SimProcess } from "./process.ts";
import type { SimStore } from "./store/sim-store.ts";
import type { Trace } from "./trace.ts";
import { voidEvents } from "./void-events.ts";
import type { EffectPlan, InLock, Seen, Stage } from "./workload/program.ts";

/** What is judged of a run's row when an effect begins. */
type KnownRow = Pick<RunRecord, "runId" | "status" | "heldBy" | "alone" | "eventCount">;

/** A run that has left the store meanwhile. */
const GONE = { status: "moved", heldBy: null, alone: false, eventCount: Number.POSITIVE_INFINITY } as const;

export class World {
  readonly effects: Effect[] = [];
  /** Transactions that have committed. */
  readonly ledger: Entry[] = [];
  /** What was broken outside works again. */
  mended = false;
  readonly #trace: Trace;
  readonly #dice: Dice;
  readonly #kills = new Map<string, number>();
  #values = 0;
  /** How far two clocks may drift apart within a lease. */
  readonly #toleranceMs: number;

  constructor(trace: Trace, dice: Dice, toleranceMs: number) {
    this.#trace = trace;
    this.#dice = dice;
    this.#toleranceMs = toleranceMs;
  }

  stage(process: SimProcess): Stage {
    return {
      generation: process.generation,
      retires: process.generation > 0,
      ask: askTransaction,
      commit: (runId, op, seen) => this.#commit(process, runId, op, seen),
      flag: () => this.#dice.int(0, 1_000_000),
      perform: (runId, plan, info, seen) => this.#perform(process, runId, plan, info, seen),
    };
  }

  /** Every other step that takes no time answers without a promise: the engine has a separate path for those. */
  #perform(
    process: SimProcess,
    runId: string,
    plan: EffectPlan,
    info: { readonly attempt: number; readonly signal: AbortSignal },
    seen: Seen,
  ): Promise<string> | string {
    process.use();
    if (process.dead) return never();
    const effect = this.#begin(process, runId, plan, info.attempt, seen);
    if (this.#kill(process, runId, plan)) return never();
    const finish = (): Promise<string> | string => this.#finish(process, plan, effect);
    if (plan.ms > 0) return process.wait(plan.ms, plan.heeds ? info.signal : undefined).then(finish);
    const atOnce = !plan.transaction && plan.op.charCodeAt(plan.op.length - 1) % 2 === 0;
    return atOnce ? finish() : Promise.resolve().then(finish);
  }

  #finish(process: SimProcess, plan: EffectPlan, effect: Effect): Promise<string> | string {
    process.use();
    if (process.dead) return never();
    const { attempt } = effect;
    if (attempt <= plan.failures || (plan.untilMended && !this.mended)) {
      effect.failed = true;
      this.#note(process, effect, "fails");
      const message = `${plan.op} fails at attempt ${attempt}`;
      throw plan.fatal ? new NonRetryableError(message) : new Error(message);
    }
    // No two executions return the same value.
    effect.value = `${plan.op}/${attempt}/${++this.#values}`;
    this.#note(process, effect, "done");
    return effect.value;
  }

  #begin(process: SimProcess, runId: string, plan: EffectPlan, attempt: number, seen: Seen): Effect {
    const { memory, time } = process.store;
    const { state } = memory;
    const row = state.runs.get(runId) ?? { ...GONE, runId };
    const events = state.events.get(runId) ?? [];
    const workerId = process.worker?.workerId ?? "";
    const trespass = plan.transaction ? undefined : this.#trespass(process.store, row, workerId);
    // A worker whose lease was cut short by a clock works from what it knew, and so may repeat what others have done.
    const excused = plan.transaction || (row.heldBy !== workerId && trespass === undefined);
    // A transaction counts only if it commits: a late copy of the call may begin at any time.
    const judged = row.heldBy === workerId && !plan.transaction;
    const effect: Effect = {
      at: time.elapsedMs,
      process: process.name,
      workerId,
      runId,
      op: plan.op,
      attempt,
      once: plan.once === true,
      shielded: plan.shielded === true,
      ...(plan.told === undefined ? {} : { told: plan.told }),
      seenSeq: seen.seq,
      seen: seen.sights,
      durableSeq: row.eventCount,
      completed: !excused && isCompleted(events, plan.op),
      canceled:
        !excused && events.some((event) => event.type === "cancel_requested" || event.type === "deadline_reached"),
      heldBy: row.heldBy,
      trespass,
      company: row.alone && row.heldBy === workerId ? process.company(1, 0) : undefined,
      failedAttempts: excused ? attempt - 1 : failedAttempts(events, plan.op, attempt),
      paused: row.heldBy === workerId && !plan.transaction ? pausedState(events, plan.op, attempt) : undefined,
      locks: judged ? locksInUse(runId, notLeft(seen), state.locks.values(), events) : [],
      regaining: judged ? regained(events, plan.op, seen.rooms ?? []) : undefined,
    };
    this.effects.push(effect);
    this.#note(process, effect, "begins");
    return effect;
  }

  #commit(process: SimProcess, runId: string, op: string, seen: Seen): void {
    const { memory, time } = process.store;
    const { state } = memory;
    const events = state.events.get(runId) ?? [];
    const locks = locksInUse(runId, notLeft(seen), state.locks.values(), events);
    this.ledger.push({ runId, op, at: time.elapsedMs, locks });
    this.#trace.add(time.elapsedMs, process.name, runId, `${op} commits`);
  }

  /** Why the worker should not be doing this; undefined if it may. */
  #trespass(store: SimStore, row: KnownRow, workerId: string): string | undefined {
    // An operator may end a run that a worker holds; the holder learns of it later.
    if (row.heldBy === workerId || row.status === "terminated") return undefined;
    // So may a watchdog take a run from a worker that lives.
    if (store.watchdogWatch.hasTaken(row.runId, workerId)) return undefined;
    const worker = store.memory.state.workers.get(workerId);
    if (!worker) return "its worker is not known to the store";
    if (!worker.died) return `the run is ${row.status}, held by ${row.heldBy ?? "no worker"}`;
    const { jumpedAt, jumpedMs, time } = store;
    const jumped = time.elapsedMs - jumpedAt < 2 * worker.leaseMs ? jumpedMs : 0;
    const lateMs = store.now() - worker.leaseExpiresAt;
    if (lateMs < 0) return `it was declared dead ${-lateMs} ms before its lease expired`;
    return lateMs <= this.#toleranceMs + jumped ? undefined : `its lease expired ${lateMs} ms ago`;
  }

  #kill(process: SimProcess, runId: string, plan: EffectPlan): boolean {
    const key = `${runId} ${plan.op}`;
    const killed = this.#kills.get(key) ?? 0;
    if (killed >= (plan.kills ?? 0)) return false;
    this.#kills.set(key, killed + 1);
    process.kill();
    return true;
  }

  #note(process: SimProcess, effect: Effect, what: string): void {
    const { elapsedMs } = process.store.time;
    this.#trace.add(elapsedMs, effect.process, effect.runId, `${effect.op} attempt ${effect.attempt} ${what}`);
  }
}

function isCompleted(events: readonly HistoryEvent[], op: string): boolean {
  const completion = events.find((event) => event.type === "step_completed" && event.op === op);
  return completion !== undefined && !voidEvents(events).has(completion);
}

/**
 * How many attempts of an op have failed, according to history. What was recorded between a failure and the retry that
 * takes it back counts if the op was requested before that failure. History does not say whether it was, so either
 * count is accepted.
 */
function failedAttempts(events: readonly HistoryEvent[], op: string, attempt: number): number {
  const gone = voidEvents(events);
  const [all, kept] = [
    countFailed(events, op),
    countFailed(
      events.filter((event) => !gone.has(event)),
      op,
    ),
  ];
  return kept === attempt - 1 ? kept : all;
}

function countFailed(events: readonly HistoryEvent[], op: string): number {
  let failed = 0;
  for (const { type, op: about, meta } of events) {
    if (type === "run_retried" && meta?.forgets?.includes(op)) failed = 0;
    if (type === "step_attempt_failed" && about === op) failed = meta?.attempt ?? 1;
  }
  return failed;
}

/** The locks that it was requested inside of, without those that it has outlasted. */
function notLeft({ locks = [], rooms = [] }: Seen): readonly InLock[] {
  return locks.filter(({ loose, held }) => !loose || rooms.some((room) => room.held === held));
}

/**
 * The lock that nothing of the run may begin without. Compensations are executed without locks; and code that has left a lock
 * meanwhile, because a timer fired, need not regain it, although its history may not say so yet.
 */
function regained(events: readonly HistoryEvent[], op: string, rooms: readonly InLock[]): string | undefined {
  if (rooms.length === 0 || op.startsWith("compensate:")) return undefined;
  return lockView(events).lost.find((lost) => rooms.some(({ name }) => `lock:${name}` === lost.replace(/#\d+$/, "")));
}

/** What history says of a pause. An attempt whose start was recorded before it must follow. */
function pausedState(events: readonly HistoryEvent[], op: string, attempt: number): string | undefined {
  const last = events.findLast((event) => event.type === "pause_requested" || endsPause(event));
  if (!last || !["pause_requested", "run_parked"].includes(last.type)) return undefined;
  const prepared = events.some(
    (event) =>
      event.type === "step_started" &&
      event.op === op &&
      (event.meta?.attempt ?? 1) === attempt &&
      event.seq < last.seq,
  );
  return prepared ? undefined : last.type === "run_parked" ? "parked" : "pausing";
}
