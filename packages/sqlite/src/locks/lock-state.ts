/** Requests for locks, and who is next. Runs without ties never get here. */
import { type LockAsk, lockMessageId, type NewLock } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { hasTie, TIES } from "../database/codes.ts";
import { uuidText } from "../database/uuid.ts";
import { owe, type TiedRun, tie } from "../debts/debt-state.ts";
import { accept } from "../inbox.ts";
import { stateByKey } from "../runs/run-state.ts";

const INSERT = "insert into holdfast_locks (run_key, seq, places, namespace, name, op) values (?, ?, ?, ?, ?, ?)";
const GIVE_BACK =
  "update holdfast_locks set given_back = 1 where run_key = ? and seq = ? and given_back = 0 returning 1";
const GIVE_ALL_BACK = "update holdfast_locks set given_back = 1 where run_key = ? and given_back = 0 returning 1";
const GIVEN_BACK = "select namespace, name from holdfast_locks where run_key = ? and given_back = 1";
const DELETE = "delete from holdfast_locks where namespace = ? and name = ? and given_back = 1";
const HELD =
  "select count(*) from holdfast_locks where namespace = ? and name = ? and fence is not null and given_back = 0";
const NEWEST = `
  select places from holdfast_locks where namespace = ? and name = ? and fence is null and given_back = 0
  order by lock_no desc limit 1`;
const NEXT = `
  select lock_no as lockNo, run_key as runKey, seq, op, waits_since as waitsSince from holdfast_locks
  where namespace = ? and name = ? and fence is null and given_back = 0 order by lock_no limit ?`;
const NEXT_FENCE = `
  insert into holdfast_fences (fence_key, fence) values (1, 1)
  on conflict (fence_key) do update set fence = fence + 1 returning fence`;
const GRANT = "update holdfast_locks set fence = ? where lock_no = ?";

export interface LockName {
  readonly namespace: string;
  readonly name: string;
}

interface Waiting {
  readonly lockNo: number;
  readonly runKey: number;
  readonly seq: number;
  readonly op: string;
  readonly waitsSince: number | null;
}

/** Returns the ties of the run afterward. */
export function insertLock(call: Call, run: TiedRun, namespace: string, { seq, op, name, limit }: NewLock): number {
  call.sql.execute(INSERT, run.runKey, seq, limit, namespace, name, op);
  return tie(call, run, TIES.locks);
}

/** The run gives them back: those of these events, or all. Whoever is next is owed it. Returns its ties afterward. */
export function giveBackLocks(call: Call, run: TiedRun, seqs?: readonly number[]): number | null {
  const { runKey, ties } = run;
  if (!hasTie(ties, TIES.locks)) return ties;
  const given = seqs
    ? seqs.flatMap((seq) => call.sql.all(GIVE_BACK, runKey, seq))
    : call.sql.all(GIVE_ALL_BACK, runKey);
  return given.length > 0 ? owe(call, run, "lock") : ties;
}

/** What it has given back and nobody has passed on yet. */
export function locksGivenBack({ sql }: Call, runKey: number): LockName[] {
  return sql.all<LockName>(GIVEN_BACK, runKey);
}

/** What was given back is deleted, and whoever is next is told. */
export function passName(call: Call, { namespace, name }: LockName, asks: readonly LockAsk[]): void {
  const { sql } = call;
  sql.run(DELETE, namespace, name);
  const next = sql.all<Waiting>(NEXT, namespace, name, freePlaces(call, namespace, name));
  for (const lock of next) {
    const [fence] = sql.columns(NEXT_FENCE) as readonly [number];
    sql.run(GRANT, fence, lock.lockNo);
    tell(call, lock, fence, asks);
  }
}

/** The newest request says how many there may be. Those that wait are newer than those that are granted. */
function freePlaces({ sql }: Call, namespace: string, name: string): number {
  const newest = sql.columns(NEWEST, namespace, name) as readonly [places: number] | undefined;
  if (!newest) return 0;
  const [count] = sql.columns(HELD, namespace, name) as readonly [number];
  return Math.max(0, newest[0] - count);
}

/**
 * Only the holder of the run may take the answer for the message: whoever else asks may be a worker that has lost the run. And only if it
 * was not told that it waits: then this may be a late copy of an earlier call, whose answer nobody reads any more.
 */
function tell(call: Call, { runKey, seq, op, waitsSince }: Waiting, fence: number, asks: readonly LockAsk[]): void {
  const row = stateByKey(call, runKey);
  const runId = uuidText(row.runId);
  const asking = asks.some((ask) => ask.runId === runId && ask.seq === seq && ask.epoch === row.epoch);
  if (asking && row.heldBy !== null && (waitsSince ?? -1) < row.epoch) return;
  accept(call, row, { kind: "lock_granted", name: op, messageId: lockMessageId(seq, fence), payload: NOTHING });
}

const NOTHING = new Uint8Array();
