/** Follows every request for a lock in the store: who is let in, in which order, and whether the line agrees with the histories. */
import type { LockRecord } from "../../packages/holdfast/src/memory/locks/lock-record.ts";
import type { MemoryState } from "../../packages/holdfast/src/memory/state.ts";
import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { CommitRunsParams } from "../../packages/holdfast/src/ports/store.ts";
import type { StoreMethod } from "../../packages/holdfast/src/ports/store-calls.ts";
import type { Found } from "../evidence.ts";
import { type LockGrant, lockView } from "../lock-evidence.ts";
import type { Trace } from "../trace.ts";
import { voidEvents } from "../void-events.ts";

export class LockWatch {
  readonly faults: Found[] = [];
  readonly grants: LockGrant[] = [];
  readonly #state: MemoryState;
  readonly #trace: Trace;
  readonly #known = new Map<number, LockRecord>();
  /** By run and request. */
  readonly #granted = new Map<string, LockGrant>();
  /** Grants that are in a history. */
  readonly #recorded = new Set<LockGrant>();
  /** How much of each history was looked at. */
  readonly #looked = new Map<string, number>();
  #newestFence = 0;

  constructor(state: MemoryState, trace: Trace) {
    this.#state = state;
    this.#trace = trace;
  }

  /** Notes what a call has just done. */
  note(at: number, who: string, method: StoreMethod, params: unknown): void {
    const { locks } = this.#state;
    if (locks.size + this.#known.size === 0) return;
    const granted: LockRecord[] = [];
    for (const [lockNo, now] of locks) {
      const before = this.#known.get(lockNo);
      if (before && before.fence === now.fence && before.givenBack === now.givenBack) continue;
      this.#trace.add(at, who, now.runId, `${method}: ${describe(before)} -> ${describe(now)}`);
      this.#known.set(lockNo, { ...now });
      if (!before) this.#created(now);
      if (before && before.fence !== now.fence) granted.push(now);
      if (now.givenBack && !before?.givenBack) this.#givenBack(now);
    }
    for (const [lockNo, before] of this.#known) {
      if (locks.has(lockNo)) continue;
      this.#known.delete(lockNo);
      if (!before.givenBack) this.#fault(before, `is gone after ${method}, and nobody has given it back`);
    }
    // A call may pass on several locks.
    granted.sort((a, b) => (a.fence ?? 0) - (b.fence ?? 0));
    for (const lock of granted) this.#grant(at, method, lock);
    for (const name of new Set(granted.map((lock) => lock.name))) this.#lookAtLine(name, granted);
    for (const lock of locks.values())
      if (!lock.givenBack && isClosed(this.#statusOf(lock))) this.#fault(lock, `survives its run after ${method}`);
    if (method === "runs.commit") for (const { runId } of (params as CommitRunsParams).commits) this.#lookAtRun(runId);
  }

  /** The end, when nothing happens any more. `settled`: all runs have ended. */
  close(settled: boolean): void {
    const left = [...this.#state.locks.values()];
    if (settled) for (const lock of left) this.#fault(lock, "is left, although every run has ended");
    for (const lock of left) {
      const line = left.filter(({ name, givenBack }) => name === lock.name && !givenBack);
      const held = line.filter(({ fence }) => fence !== null).length;
      if (lock.fence === null && !lock.givenBack && held < (line.at(-1)?.limit ?? 0))
        this.#fault(lock, "waits for good, although a place is free");
    }
  }

  #statusOf({ runId }: LockRecord) {
    return this.#state.runs.get(runId)?.status ?? "terminated";
  }

  #eventsOf(runId: string): readonly HistoryEvent[] {
    return this.#state.events.get(runId) ?? [];
  }

  #created(lock: LockRecord): void {
    const event = this.#eventsOf(lock.runId)[lock.seq - 1];
    const isRequest = event?.type === "lock_requested" || event?.type === "op_rescheduled";
    if (!isRequest || event.op !== lock.op || event.meta?.limit !== lock.limit)
      this.#fault(lock, "is in line without its event");
  }

  #givenBack(lock: LockRecord): void {
    if (isClosed(this.#statusOf(lock))) return;
    const events = this.#eventsOf(lock.runId);
    if (events.some(({ type, meta }) => type === "lock_released" && meta?.request === lock.seq)) return;
    // A try has made it that was taken back.
    if (voidEvents(events).has(events[lock.seq - 1] as HistoryEvent)) return;
    this.#fault(lock, "was given back, but not by its run");
  }

  #grant(at: number, method: StoreMethod, { runId, seq, op, name, lockNo, fence }: LockRecord): void {
    const line = this.#line(name);
    const grant = { at, runId, seq, op, name, fence: fence ?? 0, limit: line.at(-1)?.limit ?? 0 };
    if (method !== "locks.pass") this.#fault(grant, `was granted by ${method}`);
    if (grant.fence <= this.#newestFence)
      this.#fault(grant, `got fence ${fence}, but ${this.#newestFence} was given out before`);
    if (this.#granted.has(`${runId} ${seq}`)) this.#fault(grant, "was granted before");
    this.#newestFence = Math.max(this.#newestFence, grant.fence);
    this.#granted.set(`${runId} ${seq}`, grant);
    this.grants.push(grant);
    const first = line.find((lock) => lock.fence === null && lock.lockNo < lockNo);
    if (first) this.#fault(grant, `was granted before that of ${first.runId}, which is older`);
  }

  #line(name: string): LockRecord[] {
    return [...this.#state.locks.values()].filter((lock) => lock.name === name && !lock.givenBack);
  }

  #lookAtLine(name: string, granted: readonly LockRecord[]): void {
    const line = this.#line(name);
    const held = line.filter(({ fence }) => fence !== null).length;
    const limit = line.at(-1)?.limit ?? 0;
    const own = granted.filter((lock) => lock.name === name);
    const last = own.at(-1) as LockRecord;
    own.forEach((lock, i) => {
      if (lock.lockNo < (own[i - 1]?.lockNo ?? 0)) this.#fault(lock, "was granted after a request that is younger");
    });
    if (held > limit) this.#fault(last, `is held by ${held}, but the limit is ${limit}`);
  }

  /** What is in line is what history says, and every grant is recorded once, for the request that it belongs to. */
  #lookAtRun(runId: string): void {
    const run = this.#state.runs.get(runId);
    if (!run) return;
    const events = this.#eventsOf(runId);
    const looked = this.#looked.get(runId) ?? events.findLastIndex(({ type }) => type === "run_forked") + 1;
    this.#looked.set(runId, events.length);
    for (const event of events.slice(looked)) if (event.type === "lock_granted") this.#lookAtGrant(runId, event);
    if (isClosed(run.status)) return;
    const { open, lost, since } = lockView(events);
    const rows = [...this.#state.locks.values()].filter((lock) => lock.runId === runId && !lock.givenBack);
    for (const row of rows) {
      const request = open.get(row.seq);
      if (!request) this.#fault(row, "is in line, but history does not ask for it any more");
      else if (request.timedOut && row.fence === null) this.#fault(row, "is in line, but its time is over");
    }
    for (const [seq, { op, loose }] of open)
      if (!loose && !rows.some((row) => row.seq === seq)) this.#fault({ runId, op, seq }, "is not in line");
    const [op] = lost;
    if (op === undefined) return;
    for (const task of this.#state.tasks.values())
      if (task.runId === runId && task.seq > since)
        this.#fault({ runId, op, seq: task.seq }, `is not regained, but task "${task.op}" exists`);
  }

  #lookAtGrant(runId: string, { op, seq, meta }: HistoryEvent): void {
    const request = this.#eventsOf(runId).findLast(
      (event) =>
        event.seq < seq &&
        event.op === op &&
        (event.type === "lock_requested" || (event.type === "op_rescheduled" && event.meta?.limit !== undefined)),
    );
    const grant = this.#granted.get(`${runId} ${request?.seq}`);
    const about = { runId, op: op as string, seq };
    if (!grant || grant.fence !== meta?.fence)
      this.#fault(about, `is recorded as granted under ${meta?.fence}, but the store has granted ${grant?.fence}`);
    else if (this.#recorded.has(grant)) this.#fault(about, `is recorded twice as granted under ${grant.fence}`);
    if (grant) this.#recorded.add(grant);
  }

  #fault({ runId, op, seq }: Pick<LockRecord, "runId" | "op" | "seq">, text: string): void {
    this.faults.push({ runId, text: `"${op}" (${seq}) ${text}` });
  }
}

function describe(lock: LockRecord | undefined): string {
  if (!lock) return "nothing";
  const { op, seq, fence, givenBack } = lock;
  return `${op} (${seq}) ${givenBack ? "given back" : fence === null ? "waits" : `granted ${fence}`}`;
}
