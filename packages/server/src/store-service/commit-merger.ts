/**
 * Commits of all sessions, merged: while as many calls of the store are in flight as make sense, what comes meanwhile is gathered and
 * sent as one. There is no timer: an idle server adds nothing.
 *
 * 1. Each run is in a call once, as the port demands: a second commit of a run waits for the next call.
 * 2. If the store refuses a merged call, each part is sent alone: one tenant's data must not refuse another's.
 * 3. Every other error is the answer to all parts. What an unknown outcome means, each worker finds out by repeating its own part.
 * 4. A part whose caller no longer waits is not sent.
 */
import {
  type Clock,
  type CommitRunsParams,
  type CommitRunsResult,
  HoldfastError,
  isHoldfastError,
  type Store,
} from "holdfast/adapter";

/** Events in one merged call, about as many as one worker sends. */
const COMMITS_MAX = 500;

interface Part {
  readonly params: CommitRunsParams;
  readonly endsAt: number;
  readonly resolve: (result: CommitRunsResult) => void;
  readonly reject: (error: unknown) => void;
}

export class CommitMerger {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #inFlightMax: number;
  #waiting: Part[] = [];
  #inFlight = 0;
  #scheduled = false;

  constructor(store: Store, clock: Clock, inFlightMax: number) {
    this.#store = store;
    this.#clock = clock;
    this.#inFlightMax = inFlightMax;
  }

  commit(params: CommitRunsParams, endsAt: number): Promise<CommitRunsResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ params, endsAt, resolve, reject });
      this.#schedule();
    });
  }

  /** What arrives in the same turn is sent together. */
  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.#inFlightMax || this.#waiting.length === 0) return;
    this.#scheduled = true;
    void Promise.resolve().then(() => {
      this.#scheduled = false;
      while (this.#inFlight < this.#inFlightMax && this.#waiting.length > 0) void this.#send(this.#gather());
    });
  }

  #gather(): readonly Part[] {
    const now = this.#clock.monotonic();
    if (this.#waiting.length === 1 && (this.#waiting[0] as Part).endsAt > now) return this.#waiting.splice(0);
    const runs = new Set<string>();
    const parts: Part[] = [];
    const left: Part[] = [];
    let count = 0;
    for (const part of this.#waiting) {
      const { commits } = part.params;
      if (part.endsAt <= now) {
        part.reject(tooLate("runs.commit"));
        continue;
      }
      const fits = parts.length === 0 || count + commits.length <= COMMITS_MAX;
      if (!fits || commits.some(({ runId }) => runs.has(runId))) {
        left.push(part);
        // A later commit of the same run must not overtake this one.
        for (const { runId } of commits) runs.add(runId);
        continue;
      }
      for (const { runId } of commits) runs.add(runId);
      count += commits.length;
      parts.push(part);
    }
    this.#waiting = left;
    return parts;
  }

  async #send(parts: readonly Part[]): Promise<void> {
    if (parts.length === 0) return;
    this.#inFlight += 1;
    try {
      if (parts.length === 1) return await this.#sendAlone(parts[0] as Part);
      try {
        const commits = parts.flatMap(({ params }) => params.commits);
        share(parts, await this.#store.runs.commit({ commits }));
      } catch (error) {
        if (isHoldfastError(error, "store_refused")) for (const part of parts) await this.#sendAlone(part);
        else for (const part of parts) part.reject(error);
      }
    } finally {
      this.#inFlight -= 1;
      this.#schedule();
    }
  }

  async #sendAlone({ params, resolve, reject }: Part): Promise<void> {
    await this.#store.runs.commit(params).then(resolve, reject);
  }
}

/** Gives each part its own share of the answer. */
function share(parts: readonly Part[], { outcomes, messages, now }: CommitRunsResult): void {
  let from = 0;
  for (const { params, resolve } of parts) {
    const { commits } = params;
    const own = messages.length === 0 ? undefined : new Set(commits.map(({ runId }) => runId));
    resolve({
      outcomes: outcomes.slice(from, from + commits.length),
      messages: own ? messages.filter(({ runId }) => own.has(runId)) : [],
      now,
    });
    from += commits.length;
  }
}

export function tooLate(method: string): HoldfastError {
  return new HoldfastError(
    "store_unavailable",
    `${method} came too late: nobody waits for the answer. It was not made.`,
    {
      data: { call: method },
    },
  );
}
