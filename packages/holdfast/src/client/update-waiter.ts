/**
 * Waits for the answers to updates. Answers of this process's workers arrive directly. For all others, one shared look serves
 * every waiter of the client: a hint that names a run, or a slow poll of all that are awaited, costs one call however many
 * wait.
 */

import type { UpdateReply } from "../calls/run-ends.ts";
import { settledFate, type UpdateFate } from "../calls/update-answer.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { Timer } from "../ports/clock.ts";
import type { ReplyState } from "../ports/store.ts";
import type { ResultWaiterParams } from "./result-waiter.ts";

const UPDATES_PER_LOOK = 1_000;

/** One caller's wait. */
export interface UpdateWait {
  readonly fate: Promise<UpdateFate>;
  /** The message was delivered to this run, now or (`look`) before. */
  sentTo(runId: string, look: boolean): void;
  cancel(): void;
}

interface Waiting {
  readonly messageId: string;
  readonly accepted: boolean;
  /** The run that has the update; null until the store has said so. */
  runId: string | null;
  /** What came before that was known. */
  early: UpdateReply[];
  earlyRuns: Set<string>;
  readonly resolve: (fate: UpdateFate) => void;
  readonly reject: (error: unknown) => void;
}

export class UpdateWaiter {
  readonly #params: ResultWaiterParams;
  readonly #waiting = new Set<Waiting>();
  /** Those whose run is known, by run. */
  readonly #byRun = new Map<string, Set<Waiting>>();
  readonly #unsent = new Set<Waiting>();
  readonly #hinted = new Set<Waiting>();
  readonly #unsubscribe: (() => void)[] = [];
  #looking = false;
  #timer: Timer | undefined;

  constructor(params: ResultWaiterParams) {
    this.#params = params;
    params.life.watch(() => this.#close());
  }

  /** Begins to wait, before the update is sent. `accepted`: an acceptance is enough. */
  wait(messageId: string, accepted: boolean): UpdateWait {
    this.#params.life.assertOpen();
    if (this.#unsubscribe.length === 0) this.#subscribe();
    let waiting: Waiting | undefined;
    const fate = new Promise<UpdateFate>((resolve, reject) => {
      waiting = { messageId, accepted, runId: null, early: [], earlyRuns: new Set(), resolve, reject };
      this.#waiting.add(waiting);
      this.#unsent.add(waiting);
    });
    fate.catch(() => {});
    const own = waiting as unknown as Waiting;
    return {
      fate,
      sentTo: (runId, look) => this.#sentTo(own, runId, look),
      cancel: () => this.#remove(own),
    };
  }

  #subscribe(): void {
    const { ends, notifier } = this.#params;
    this.#unsubscribe.push(
      ends.subscribe({ ended: ({ runId }) => this.#hint(runId), replied: (reply) => this.#tell(reply) }),
      notifier.subscribe((hint) => {
        if (hint.type === "ended") this.#hint(hint.runId);
        else if (hint.type === "replied" && !this.#params.isHeldHere(hint.runId)) this.#hint(hint.runId);
      }),
    );
  }

  #sentTo(waiting: Waiting, runId: string, look: boolean): void {
    if (!this.#waiting.has(waiting)) return;
    this.#unsent.delete(waiting);
    this.#follow(waiting, runId);
    for (const reply of waiting.early) if (reply.runId === runId) this.#settle(waiting, reply);
    if (look || waiting.earlyRuns.has(runId)) this.#lookAt([waiting]);
    waiting.early = [];
    waiting.earlyRuns.clear();
    this.#schedule();
  }

  #follow(waiting: Waiting, runId: string): void {
    if (waiting.runId === runId) return;
    this.#unfollow(waiting);
    waiting.runId = runId;
    const others = this.#byRun.get(runId);
    if (others) others.add(waiting);
    else this.#byRun.set(runId, new Set([waiting]));
  }

  #unfollow(waiting: Waiting): void {
    if (waiting.runId === null) return;
    const others = this.#byRun.get(waiting.runId);
    others?.delete(waiting);
    if (others?.size === 0) this.#byRun.delete(waiting.runId);
  }

  #tell(reply: UpdateReply): void {
    for (const waiting of this.#unsent) if (waiting.messageId === reply.messageId) waiting.early.push(reply);
    for (const waiting of [...(this.#byRun.get(reply.runId) ?? [])])
      if (waiting.messageId === reply.messageId) this.#settle(waiting, reply);
  }

  #hint(runId: string): void {
    for (const waiting of this.#unsent) waiting.earlyRuns.add(runId);
    this.#lookAt(this.#byRun.get(runId) ?? []);
  }

  #settle(waiting: Waiting, fate: UpdateFate): void {
    if (fate.stage === "accepted" && !waiting.accepted) return;
    if (!this.#waiting.has(waiting)) return;
    this.#remove(waiting);
    waiting.resolve(fate);
  }

  #remove(waiting: Waiting): void {
    this.#unfollow(waiting);
    this.#waiting.delete(waiting);
    this.#unsent.delete(waiting);
    this.#hinted.delete(waiting);
    if (this.#waiting.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#timer || this.#waiting.size === 0 || this.#params.life.over) return;
    this.#timer = this.#params.clock.setTimer(this.#params.lookMs, () => {
      this.#timer = undefined;
      this.#lookAt([...this.#byRun.values()].flatMap((some) => [...some]));
      this.#schedule();
    });
  }

  #lookAt(some: Iterable<Waiting>): void {
    for (const waiting of some) this.#hinted.add(waiting);
    if (this.#hinted.size === 0 || this.#looking || this.#params.life.over) return;
    this.#looking = true;
    this.#params.clock.immediate(() => void this.#readHinted());
  }

  async #readHinted(): Promise<void> {
    while (this.#hinted.size > 0 && !this.#params.life.over) {
      const wanted = [...this.#hinted].slice(0, UPDATES_PER_LOOK);
      for (const waiting of wanted) this.#hinted.delete(waiting);
      const { store, namespace, log } = this.#params;
      try {
        const updates = wanted.map(({ runId, messageId }) => {
          return { run: { namespace, runId: runId as string }, messageId };
        });
        const states = await store.inbox.replies({ updates });
        states.forEach((state, i) => {
          this.#learn(wanted[i] as Waiting, state);
        });
      } catch (error) {
        if (this.#params.life.over) return;
        log.warn({ error: String(error) }, "could not read the answers to updates; the next look repeats it");
        break;
      }
    }
    this.#looking = false;
  }

  #learn(waiting: Waiting, state: ReplyState): void {
    if (!this.#waiting.has(waiting)) return;
    const { runId, stage, status } = state;
    if (runId === null || status === null) return this.#settle(waiting, { stage: "gone" });
    // A run that has continued as new has handed the update on.
    this.#follow(waiting, runId);
    if (stage === "accepted" && waiting.accepted) return this.#settle(waiting, { stage });
    const fate = settledFate(state);
    if (fate) this.#settle(waiting, fate);
  }

  #close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#timer?.cancel();
    const message =
      "The client was closed while the answer to an update was awaited. The update itself is not withdrawn.";
    for (const waiting of this.#waiting) waiting.reject(new HoldfastError("client_closed", message));
    this.#waiting.clear();
  }
}
