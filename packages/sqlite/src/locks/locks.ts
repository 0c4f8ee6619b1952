import type {
  ListLocksParams,
  LockAnswer,
  LockAsk,
  LockRequest,
  PassLocksParams,
  PassLocksResult,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { uuidText } from "../database/uuid.ts";
import { keyOf } from "../runs/run-state.ts";
import { type LockName, locksGivenBack, passName } from "./lock-state.ts";

const ONE = `
  select lock_no as lockNo, namespace, name, fence, waits_since as waitsSince
  from holdfast_locks where run_key = ? and seq = ? and given_back = 0`;
const WAITS_SINCE = "update holdfast_locks set waits_since = ? where lock_no = ?";
const REQUEST = `
  select l.seq, l.op, l.name, l.places as "limit", l.fence, r.run_id as runId, s.id
  from holdfast_locks l join holdfast_runs r on r.run_key = l.run_key join holdfast_run_starts s on s.run_key = l.run_key`;
const HOLDERS = `
  ${REQUEST} where l.namespace = ? and l.name = ? and l.fence is not null and l.given_back = 0 order by l.lock_no limit ?`;
const WAITING = `
  ${REQUEST} where l.namespace = ? and l.name = ? and l.fence is null and l.given_back = 0 order by l.lock_no limit ?`;
const OF_RUN = `${REQUEST} where l.run_key = ? and l.given_back = 0 order by l.lock_no limit ?`;

type StoredRequest = Omit<LockRequest, "runId"> & { readonly runId: Uint8Array };

interface StoredLock extends LockName {
  readonly lockNo: number;
  readonly fence: number | null;
  readonly waitsSince: number | null;
}

export function passLocks(call: Call, { asks, givenBackBy }: PassLocksParams): PassLocksResult {
  const names = new Map<string, LockName>();
  const note = (lock: LockName): void => void names.set(`${lock.namespace}\n${lock.name}`, lock);
  for (const run of givenBackBy) {
    const runKey = keyOf(call, run);
    if (runKey !== null) locksGivenBack(call, runKey).forEach(note);
  }
  for (const ask of asks) {
    const lock = wanted(call, ask);
    if (lock) note(lock);
  }
  for (const name of names.values()) passName(call, name, asks);
  return { answers: asks.map((ask) => answer(call, ask)), passed: givenBackBy.map(() => true) };
}

function wanted(call: Call, { namespace, runId, seq }: LockAsk): StoredLock | undefined {
  const runKey = keyOf(call, { namespace, runId });
  return runKey === null ? undefined : call.sql.get<StoredLock>(ONE, runKey, seq);
}

function answer(call: Call, ask: LockAsk): LockAnswer {
  const lock = wanted(call, ask);
  if (!lock) return { outcome: "gone", fence: null };
  if (lock.fence !== null) return { outcome: "granted", fence: lock.fence };
  if ((lock.waitsSince ?? -1) < ask.epoch) call.sql.run(WAITS_SINCE, ask.epoch, lock.lockNo);
  return { outcome: "waiting", fence: null };
}

export function listLocks(call: Call, { namespace, of, limit }: ListLocksParams): LockRequest[] {
  if ("name" in of) {
    const holders = call.sql.all<StoredRequest>(HOLDERS, namespace, of.name, limit);
    const waiting = call.sql.all<StoredRequest>(WAITING, namespace, of.name, limit);
    return [...holders, ...waiting].slice(0, limit).map(requestOf);
  }
  const runKey = keyOf(call, { namespace, runId: of.runId });
  return runKey === null ? [] : call.sql.all<StoredRequest>(OF_RUN, runKey, limit).map(requestOf);
}

function requestOf({ runId, ...request }: StoredRequest): LockRequest {
  return { ...request, runId: uuidText(runId) };
}
