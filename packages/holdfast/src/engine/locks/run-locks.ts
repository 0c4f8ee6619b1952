/**
 * The locks of one live run. The commit that records a request creates it in the store; from then on this run asks the store to
 * pass the lock on, and is told that its request is granted: by the answer, or later by a message. What history says about locks is
 * in replay/ops/lock.ts.
 *
 * Invariants
 *  W1. A request exists from the commit that records it to the commit that gives it back, or to the end of its run. What a commit
 *      makes and gives back follows from its events alone.
 *  W2. Whoever holds a run whose request is not granted has asked about it, under the epoch of its hold. So a grant is in the answer
 *      to the holder, or in the inbox.
 *      The timeout of a request waits for that answer: however short it is, a lock that is free is granted.
 *  W3. A grant names the event of the request. If that is not the newest of its op, it is dropped.
 *  W4. While the code is inside of a lock that the run does not hold, because it was retried or forked, nothing starts, and nothing
 *      reaches the code (execute/standstill.ts).
 */
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import type { Timer } from "../../ports/clock.ts";
import type { LockWork } from "../../replay/ops/lock-work.ts";
import type { ExecutorHost } from "../execute/executor-host.ts";
import type { HeldRun } from "../execute/held-run.ts";
import type { QueuedDraft } from "../execute/message-draft.ts";
import type { Written } from "../tasks/given-up-tasks.ts";

/** How long a run with unread messages keeps its slot while it waits for a lock. */
const STAY_MS = 2_000;

/** The live run that these locks belong to. */
export interface LockOwner extends HeldRun {
  push(draft: QueuedDraft): void;
}

export class RunLocks {
  readonly #host: ExecutorHost;
  readonly #run: LockOwner;
  /** Requests that were asked about since the run is here, by seq. */
  #asked = new Set<number>();
  #asking = 0;
  /** Answers to earlier questions do not count. */
  #generation = 0;
  /** Until when the run stays here, though all that it can do is wait for a grant. */
  #stay: Timer | undefined;
  #stayed = false;

  constructor(host: ExecutorHost, run: LockOwner) {
    this.#host = host;
    this.#run = run;
  }

  /** Everything has been delivered: what the store has given away is requested again, and what is in line is asked about. */
  attend(written: Written): void {
    const { machine } = this.#run;
    for (let lost = this.#nextLost(); lost; lost = this.#nextLost()) this.#requestAgain(lost);
    for (const lock of machine.locks.active()) {
      if (this.#isToAsk(lock) && lock.seq <= written.durableSeq && this.#host.lease.active()) void this.#ask(lock);
    }
  }

  #nextLost(): LockWork | undefined {
    const { machine } = this.#run;
    return machine.compensating ? undefined : machine.locks.nextLost();
  }

  #requestAgain({ op, limit }: LockWork): void {
    this.#run.machine.noteLock({ type: "op_rescheduled", op, meta: { limit } }, this.#host.storeTime.now());
  }

  #isToAsk({ seq, held, lost }: LockWork): boolean {
    return !held && !lost && seq > 0 && !this.#asked.has(seq);
  }

  async #ask(lock: LockWork): Promise<void> {
    const { op, seq } = lock;
    const generation = this.#generation;
    const { namespace, runId, epoch } = this.#run.run;
    this.#asked.add(seq);
    this.#asking += 1;
    try {
      const { outcome, fence } = await this.#host.others.askLock({ namespace, runId, seq, epoch });
      if (generation !== this.#generation) return;
      if (outcome === "granted" && this.#run.here)
        this.#run.push({ type: "lock_granted", op, meta: { fence: fence as number }, lockSeq: seq });
    } catch (error) {
      // A store that refuses the question refuses it for good; the request stays in line, and the next hold asks again.
      if (!isHoldfastError(error, "client_closed"))
        this.#host.log.error({ runId, op, error: String(error) }, "asking for a lock failed");
      if (generation !== this.#generation) return;
    }
    if (lock.seq === seq) lock.inLine = true;
    this.#asking -= 1;
    this.#run.poke();
  }

  /** Whether the run stays here, because a question is not answered yet or is still to be asked. */
  holding(): boolean {
    if (this.#asking > 0 || this.#nextLost()) return true;
    return this.#run.machine.locks.active().some((lock) => this.#isToAsk(lock));
  }

  get calling(): boolean {
    return this.#asking > 0;
  }

  /** Whether a run that cannot be suspended, because messages wait for a lock, stays here; if not, it is released and claimed again. */
  stays(): boolean {
    if (this.#stayed || this.#host.draining()) return false;
    this.#stay ??= this.#host.clock.setTimer(STAY_MS, () => {
      this.#stayed = true;
      this.#run.poke();
    });
    return true;
  }

  /** Whether nobody waits for that grant (W3). */
  refuses({ op, lockSeq }: QueuedDraft): boolean {
    const lock = this.#run.machine.locks.get(op);
    return !lock || lock.seq !== lockSeq || lock.held || lock.lost;
  }

  /** The run is no longer here, or its last turns are taken back: whatever is in line is asked about again (W2). */
  clear(): void {
    this.#generation += 1;
    this.#asked = new Set();
    this.#asking = 0;
    for (const lock of this.#run.machine.locks.active()) lock.inLine = false;
    this.#stay?.cancel();
    this.#stay = undefined;
    this.#stayed = false;
  }
}
