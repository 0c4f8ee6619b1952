import type { LockRequest } from "../../model/lock.ts";
import type { ListLocksParams, LockAnswer, LockAsk, PassLocksParams, PassLocksResult } from "../../ports/store.ts";
import { type MemoryState, type RunRecord, runIn } from "../state.ts";
import type { LockRecord } from "./lock-record.ts";
import { line, locksOf, passName } from "./lock-state.ts";

export function passLocks(state: MemoryState, { asks, givenBackBy }: PassLocksParams, now: number): PassLocksResult {
  const names = new Map<string, LockRecord>();
  const note = (lock: LockRecord): void => void names.set(`${lock.namespace}\n${lock.name}`, lock);
  for (const { namespace, runId } of givenBackBy)
    if (runIn(state, namespace, runId))
      locksOf(state, runId)
        .filter(({ givenBack }) => givenBack)
        .forEach(note);
  for (const ask of asks) wanted(state, ask).forEach(note);
  for (const { namespace, name } of names.values()) passName(state, namespace, name, asks, now);
  return { answers: asks.map((ask) => answer(state, ask)), passed: givenBackBy.map(() => true) };
}

function wanted(state: MemoryState, { namespace, runId, seq }: LockAsk): LockRecord[] {
  if (!runIn(state, namespace, runId)) return [];
  return locksOf(state, runId).filter((lock) => lock.seq === seq && !lock.givenBack);
}

function answer(state: MemoryState, ask: LockAsk): LockAnswer {
  const [lock] = wanted(state, ask);
  if (!lock) return { outcome: "gone", fence: null };
  if (lock.fence !== null) return { outcome: "granted", fence: lock.fence };
  lock.waitsSince = Math.max(lock.waitsSince ?? 0, ask.epoch);
  return { outcome: "waiting", fence: null };
}

export function listLocks(state: MemoryState, { namespace, of, limit }: ListLocksParams): LockRequest[] {
  const all =
    "name" in of ? line(state, namespace, of.name) : runIn(state, namespace, of.runId) ? locksOf(state, of.runId) : [];
  const open = all.filter(({ givenBack }) => !givenBack);
  const [granted, waiting] = [open.filter(({ fence }) => fence !== null), open.filter(({ fence }) => fence === null)];
  return ("name" in of ? [...granted, ...waiting] : open)
    .slice(0, limit)
    .map(({ seq, op, name, limit: most, runId, fence }) => {
      const { id } = state.runs.get(runId) as RunRecord;
      return { seq, op, name, limit: most, runId, id, fence };
    });
}
