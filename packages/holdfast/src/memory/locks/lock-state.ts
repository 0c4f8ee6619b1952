import { wakes, wakeTime } from "../../model/decisions/delivery.ts";
import { lockMessageId, type NewLock } from "../../model/lock.ts";
import { EMPTY_PAYLOAD } from "../../model/payload.ts";
import type { LockAsk } from "../../ports/store.ts";
import { owe } from "../debts/debt-state.ts";
import { appendMessage } from "../inbox.ts";
import { type MemoryState, type RunRecord, setAvailable } from "../state.ts";
import type { LockRecord } from "./lock-record.ts";

/** All requests of a name, oldest first. */
export function line(state: MemoryState, namespace: string, name: string): LockRecord[] {
  return [...state.locks.values()].filter((lock) => lock.namespace === namespace && lock.name === name);
}

export function locksOf(state: MemoryState, runId: string): LockRecord[] {
  return [...(state.locksOf.get(runId) ?? [])].map((lockNo) => state.locks.get(lockNo) as LockRecord);
}

export function insertLock(state: MemoryState, { namespace, runId }: RunRecord, lock: NewLock): void {
  state.newestLock += 1;
  const lockNo = state.newestLock;
  state.locks.set(lockNo, { ...lock, lockNo, namespace, runId, fence: null, givenBack: false, waitsSince: null });
  const own = state.locksOf.get(runId);
  if (own) own.add(lockNo);
  else state.locksOf.set(runId, new Set([lockNo]));
}

/** The run gives them back: those of these events, or all. Whoever is next is owed it. */
export function giveBackLocks(state: MemoryState, row: RunRecord, now: number, seqs?: readonly number[]): void {
  const given = locksOf(state, row.runId).filter(({ seq, givenBack }) => !givenBack && (seqs?.includes(seq) ?? true));
  for (const lock of given) lock.givenBack = true;
  if (given.length > 0) owe(state, row, "lock", now);
}

/** What was given back is deleted, and whoever is next is told. */
export function passName(
  state: MemoryState,
  namespace: string,
  name: string,
  asks: readonly LockAsk[],
  now: number,
): void {
  for (const lock of line(state, namespace, name)) if (lock.givenBack) deleteLock(state, lock);
  const wanted = line(state, namespace, name);
  const held = wanted.filter(({ fence }) => fence !== null).length;
  const free = Math.max(0, (wanted.at(-1)?.limit ?? 0) - held);
  for (const lock of wanted.filter(({ fence }) => fence === null).slice(0, free)) {
    state.newestFence += 1;
    lock.fence = state.newestFence;
    tell(state, lock, asks, now);
  }
}

function deleteLock(state: MemoryState, { lockNo, runId }: LockRecord): void {
  state.locks.delete(lockNo);
  const own = state.locksOf.get(runId);
  own?.delete(lockNo);
  if (own?.size === 0) state.locksOf.delete(runId);
}

/**
 * Only the holder of the run may take the answer for the message: whoever else asks may be a worker that has lost the run. And only if it
 * was not told that it waits: then this may be a late copy of an earlier call, whose answer nobody reads any more.
 */
function tell(state: MemoryState, lock: LockRecord, asks: readonly LockAsk[], now: number): void {
  const { runId, seq, op: name, fence } = lock;
  const row = state.runs.get(runId) as RunRecord;
  const asking = asks.some((ask) => ask.runId === runId && ask.seq === seq && ask.epoch === row.epoch);
  if (asking && row.heldBy !== null && (lock.waitsSince ?? -1) < row.epoch) return;
  const messageId = lockMessageId(seq, fence as number);
  appendMessage(state, row, { kind: "lock_granted", name, messageId, payload: EMPTY_PAYLOAD }, now);
  if (row.heldBy !== null) state.hints.push({ type: "inbox", runId, workerId: row.heldBy });
  else if (wakes({ parked: row.status === "parked", startedAt: row.startedAt }, "lock_granted"))
    setAvailable(state, row, wakeTime(row.availableAt, now), now);
}
