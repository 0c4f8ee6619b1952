/** What is kept of workers besides their rows: their lives, and what they have counted. */
import type { RateRow } from "../model/rates.ts";
import type { WorkerLogRow, WorkerMoment } from "../model/worker-row.ts";
import type { AddRatesParams, ReadRatesParams, ReadWorkerLogParams, WorkerRef } from "../ports/store.ts";
import { isLive, type MemoryState, type WorkerState, workerIn } from "./state.ts";

export function logMoment(
  state: MemoryState,
  { namespace, workerId, name }: Pick<WorkerState, "namespace" | "workerId" | "name">,
  type: WorkerMoment,
  at: number,
): void {
  state.newestLogEntry += 1;
  state.workerLog.push({ entryNo: state.newestLogEntry, namespace, workerId, name, type, at });
}

export function readWorkerLog(state: MemoryState, params: ReadWorkerLogParams): WorkerLogRow[] {
  const { namespace, workerId, before, limit } = params;
  return state.workerLog
    .filter((entry) => entry.namespace === namespace && (workerId === undefined || entry.workerId === workerId))
    .filter(({ entryNo }) => before === null || entryNo < before)
    .reverse()
    .slice(0, limit);
}

export function askToDrain(state: MemoryState, params: WorkerRef): { outcome: "asked" | "offline" | "not_found" } {
  const worker = workerIn(state, params);
  if (!worker) return { outcome: "not_found" };
  if (worker.status === "offline") return { outcome: "offline" };
  worker.drainAsked = true;
  return { outcome: "asked" };
}

export function addRates(state: MemoryState, params: AddRatesParams): void {
  const worker = workerIn(state, params);
  if (!worker || !isLive(state, params) || worker.ratesNo + 1 !== params.no) return;
  worker.ratesNo = params.no;
  for (const { from, workflow, started, ended, failed, retried } of params.rates) {
    const key = `${params.namespace}\n${workflow}\n${from}`;
    const sum = state.rates.get(key);
    if (!sum) {
      state.rates.set(key, { namespace: params.namespace, from, workflow, started, ended, failed, retried });
      continue;
    }
    sum.started += started;
    sum.ended += ended;
    sum.failed += failed;
    sum.retried += retried;
  }
}

export function readRates(state: MemoryState, params: ReadRatesParams): RateRow[] {
  const { namespace, from, to, grainMs, workflow } = params;
  const sums = new Map<string, { -readonly [K in keyof RateRow]: RateRow[K] }>();
  for (const rate of state.rates.values()) {
    if (rate.namespace !== namespace || (workflow !== undefined && rate.workflow !== workflow)) continue;
    if (rate.from < from || rate.from >= to) continue;
    const stretch = rate.from - (rate.from % grainMs);
    const key = `${stretch}\n${rate.workflow}`;
    const sum = sums.get(key) ?? {
      ...{ from: stretch, workflow: rate.workflow },
      ...{ started: 0, ended: 0, failed: 0, retried: 0 },
    };
    sum.started += rate.started;
    sum.ended += rate.ended;
    sum.failed += rate.failed;
    sum.retried += rate.retried;
    sums.set(key, sum);
  }
  const byBytes = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
  return [...sums.values()].sort((a, b) => a.from - b.from || byBytes(a.workflow, b.workflow));
}

export function forgetWorkers(
  state: MemoryState,
  { before, limit }: { readonly before: number; readonly limit: number },
): { more: boolean } {
  const entries = state.workerLog.slice(0, limit).filter(({ at }) => at < before);
  const left = state.workerLog.filter((entry) => !entries.includes(entry));
  state.workerLog.splice(0, state.workerLog.length, ...left);
  const counted = [...state.rates].filter(([, { from }]) => from < before).slice(0, limit);
  for (const [key] of counted) state.rates.delete(key);
  const isEmpty = (id: string): boolean => !state.held.get(id)?.size && !state.heldTasks.get(id)?.size;
  const gone = [...state.workers.values()].filter(
    ({ workerId, status, stoppedAt }) =>
      status === "offline" && stoppedAt !== null && stoppedAt < before && isEmpty(workerId),
  );
  for (const { workerId } of gone.slice(0, limit)) state.workers.delete(workerId);
  return { more: [entries, counted, gone].some(({ length }) => length >= limit) };
}
