import type { OpenStore } from "../store-under-test.ts";
import type { Call } from "./call.ts";
import { type Parting, type TimedCall, tryCalls } from "./trial.ts";

/**
 * Removes everything that is not needed for the stores to differ: calls first, then parts of calls. The rest may
 * contain nonsense (consuming a message that was never delivered). The memory store detects that, and it does not
 * count.
 */
export async function shrink(open: OpenStore, found: Parting, triesMax: number): Promise<Parting> {
  if (found.oracleFault) return found;
  let best = found;
  let tries = 0;
  const parts = async (calls: readonly TimedCall[]): Promise<boolean> => {
    if (tries++ >= triesMax) return false;
    const parting = await tryCalls(open, calls, found.world);
    if (!parting || parting.oracleFault) return false;
    best = parting;
    return true;
  };
  await removePieces(best.calls, parts);
  for (let i = 0; i < best.calls.length; i++) {
    for (const smaller of smallerCalls((best.calls[i] as TimedCall).call)) {
      const calls = best.calls.map((timed, k) => (k === i ? { ...timed, call: smaller } : timed));
      if (await parts(calls)) break;
    }
  }
  return best;
}

/** Removes ever smaller pieces as long as the rest still fails. */
async function removePieces<T>(items: readonly T[], fails: (items: readonly T[]) => Promise<boolean>): Promise<void> {
  let kept = items;
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = kept.length - size; from > -size; from -= size) {
      const rest = [...kept.slice(0, Math.max(0, from)), ...kept.slice(from + size)];
      if (rest.length > 0 && (await fails(rest))) kept = rest;
    }
  }
}

/** For each item of a call, the same call with that item only. */
function smallerCalls(call: Call): Call[] {
  switch (call.method) {
    case "runs.start":
      return ones(call.params.starts).map((starts) => ({ ...call, params: { ...call.params, starts } }));
    case "runs.commit":
      return ones(call.params.commits).map((commits) => ({ ...call, params: { ...call.params, commits } }));
    case "inbox.deliver":
      return ones(call.params.messages).map((messages) => ({ ...call, params: { ...call.params, messages } }));
    case "runs.releaseIfHeld":
      return ones(call.params.runs).map((runs) => ({ ...call, params: { ...call.params, runs } }));
    case "runs.watch":
      return ones(call.params.watches).map((watches) => ({ ...call, params: { watches } }));
    case "debts.pay":
      return ones(call.params.debts).map((debts) => ({ ...call, params: { debts } }));
    case "tasks.finish":
      return ones(call.params.finishes).map((finishes) => ({ ...call, params: { ...call.params, finishes } }));
    case "tasks.beat":
      return ones(call.params.beats).map((beats) => ({ ...call, params: { ...call.params, beats } }));
    case "tasks.cancel":
      return ones(call.params.tasks).map((tasks) => ({ ...call, params: { ...call.params, tasks } }));
    default:
      return [];
  }
}

function ones<T>(items: readonly T[]): T[][] {
  return items.length > 1 ? items.map((item) => [item]) : [];
}
