import type { OpenStore } from "../store-under-test.ts";
import type { Call } from "./call.ts";
import { type Parting, type TimedCall, tryCalls } from "./trial.ts";

/**
 * Removes everything that is not needed for the stores to differ: calls first, then parts of calls, and again what has become
 * needless by that. The rest may contain nonsense (consuming a message that was never delivered). The memory store detects that, and
 * it does not count; nor does a store that fails instead of differing, since nonsense may be the reason.
 */
export async function shrink(open: OpenStore, found: Parting, triesMax: number): Promise<Parting> {
  if (found.oracleFault) return found;
  const shrinking = new Shrinking(open, found, triesMax);
  for (let before = Number.POSITIVE_INFINITY; shrinking.size < before; ) {
    before = shrinking.size;
    await shrinking.removeCalls();
    await shrinking.removeParts();
  }
  return shrinking.best;
}

class Shrinking {
  best: Parting;
  readonly #open: OpenStore;
  readonly #triesMax: number;
  #tries = 0;

  constructor(open: OpenStore, found: Parting, triesMax: number) {
    this.#open = open;
    this.best = found;
    this.#triesMax = triesMax;
  }

  /** Calls, and the items of those that have several. */
  get size(): number {
    return this.best.calls.reduce((sum, { call }) => sum + 1 + itemsOf(call), 0);
  }

  /** Removes ever smaller pieces as long as the rest still shows it. A difference may also show earlier: what follows it is gone, too. */
  async removeCalls(): Promise<void> {
    for (let size = Math.ceil(this.best.calls.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = this.best.calls.length - size; from > -size; from -= size) {
        const { calls } = this.best;
        const rest = [...calls.slice(0, Math.max(0, from)), ...calls.slice(Math.max(0, from + size))];
        if (rest.length > 0 && rest.length < calls.length) await this.#shows(rest);
      }
    }
  }

  async removeParts(): Promise<void> {
    for (let i = 0; i < this.best.calls.length; i++) {
      for (const smaller of smallerCalls((this.best.calls[i] as TimedCall).call)) {
        const calls = this.best.calls.map((timed, k) => (k === i ? { ...timed, call: smaller } : timed));
        if (await this.#shows(calls)) break;
      }
    }
  }

  async #shows(calls: readonly TimedCall[]): Promise<boolean> {
    if (this.#tries++ >= this.#triesMax) return false;
    const parting = await tryCalls(this.#open, calls, this.best.world);
    if (!parting || parting.oracleFault || parting.failed !== this.best.failed) return false;
    this.best = parting;
    return true;
  }
}

function itemsOf(call: Call): number {
  return smallerCalls(call).length;
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
