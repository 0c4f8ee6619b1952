/**
 * Waits for the answers to updates. Answers of this process's workers arrive directly. For all others, one shared look serves
 * every waiter of the client: a hint that names a run, or a slow poll of all that are awaited, costs one call however many
 * wait.
 */

import type { UpdateReply } from "../calls/run-ends.ts";
import { settledFate, type UpdateFate } from "../calls/update-answer.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { PAUSED } from "../model/operator-notes.ts";
import type { Timer } from "../ports/clock.ts";
import type { ReplyState } from "../ports/store.ts";
import type { ResultWaiterParams } from "./result-waiter.ts";

const UPDATES_PER_LOOK = 1_000;

export interface AwaitedUpdate {
  readonly messageId: string;
  readonly name: string;
}

/** One caller's wait. */
export interface UpdateWait {
  readonly fate: Promise<UpdateFate>;
  /** The message was delivered to this run. `look`: it may have been before, or the run is parked. */
  sentTo(runId: string, look: boolean): void;
  cancel(): void;
}

interface Waiting {
  readonly messageId: string;
  readonly name: string;
  readonly accepted: boolean;
  /** Whether the update of this id is known to have this name, and so to be this one. */
  known: boolean;
  /** The run that has the update; null until the store has said so. */
  runId: string | null;
  /** What came before that was known: answers, and hints after this one. */
  early: UpdateReply[];
  readonly lastHint: number;
  readonly resolve: (fate: UpdateFate) => void;
  readonly reject: (error: unknown) => void;
}

export class UpdateWaiter {
  readonly #params: ResultWaiterParams;
  readonly #waiting = new Set<Waiting>();
  /** Those whose run is known, by run. */
  readonly #byRun = new Map<string, Set<Waiting>>();
  /** What ends the interest in the hints of a run, where hints come by interest. */
  readonly #watches = new Map<string, () => void>();
  /** Those whose run is not known yet, the oldest first, and by message. */
  readonly #unsent = new Set<Waiting>();
  readonly #byMessage = new Map<string, Set<Waiting>>();
  /** Runs that hints were about since the oldest of them began to wait, with the number of the last one, in that order. */
  readonly #hintedRuns = new Map<string, number>();
  #hints = 0;
  readonly #hinted = new Set<Waiting>();
  readonly #unsubscribe: (() => void)[] = [];
  #looking = false;
  #timer: Timer | undefined;

  constructor(params: ResultWaiterParams) {
    this.#params = params;
    params.life.watch(() => this.#close());
  }

  /** Begins to wait, before the update is sent. `accepted`: an acceptance is enough. */
  wait({ messageId, name }: AwaitedUpdate, accepted: boolean): UpdateWait {
    this.#params.life.assertOpen();
    if (this.#unsubscribe.length === 0) this.#subscribe();
    let waiting: Waiting | undefined;
    const fate = new Promise<UpdateFate>((resolve, reject) => {
      const early = { early: [], lastHint: this.#hints };
      waiting = { messageId, name, accepted, known: false, runId: null, ...early, resolve, reject };
      this.#waiting.add(waiting);
      this.#unsent.add(waiting);
      addTo(this.#byMessage, messageId, waiting);
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
      ends.subscribe({
        ended: ({ runId }) => this.#hint(runId),
        parked: ({ runId }) => this.#hint(runId),
        replied: (reply) => this.#tell(reply),
      }),
      notifier.subscribe((hint) => {
        if (hint.type === "ended") this.#hint(hint.runId);
        else if (hint.type === "replied" && !this.#params.isHeldHere(hint.runId)) this.#hint(hint.runId);
      }),
    );
  }

  #sentTo(waiting: Waiting, runId: string, look: boolean): void {
    if (!this.#waiting.has(waiting)) return;
    const hinted = (this.#hintedRuns.get(runId) ?? 0) > waiting.lastHint;
    this.#sent(waiting);
    this.#follow(waiting, runId);
    waiting.early = waiting.early.filter((reply) => reply.runId === runId);
    // One that was sent before may have another name.
    if (!look) this.#settleEarly(waiting);
    if (look || hinted) this.#lookAt([waiting]);
    this.#schedule();
  }

  #settleEarly(waiting: Waiting): void {
    waiting.known = true;
    for (const reply of waiting.early.splice(0)) this.#settle(waiting, reply);
  }

  #follow(waiting: Waiting, runId: string): void {
    if (waiting.runId === runId) return;
    this.#unfollow(waiting);
    waiting.runId = runId;
    addTo(this.#byRun, runId, waiting);
    const { notifier } = this.#params;
    if (notifier.watch && !this.#watches.has(runId)) this.#watches.set(runId, notifier.watch([runId]));
  }

  #unfollow(waiting: Waiting): void {
    const { runId } = waiting;
    if (runId === null) return;
    removeFrom(this.#byRun, runId, waiting);
    if (this.#byRun.has(runId)) return;
    this.#watches.get(runId)?.();
    this.#watches.delete(runId);
  }

  /** Its run is known, or nobody waits. Hints that only it could have missed are forgotten. */
  #sent(waiting: Waiting): void {
    if (!this.#unsent.delete(waiting)) return;
    removeFrom(this.#byMessage, waiting.messageId, waiting);
    const [oldest] = this.#unsent;
    for (const [runId, number] of this.#hintedRuns) {
      if (oldest && number > oldest.lastHint) return;
      this.#hintedRuns.delete(runId);
    }
  }

  #tell(reply: UpdateReply): void {
    for (const waiting of this.#byMessage.get(reply.messageId) ?? []) waiting.early.push(reply);
    for (const waiting of [...(this.#byRun.get(reply.runId) ?? [])])
      if (waiting.messageId !== reply.messageId) continue;
      else if (waiting.known) this.#settle(waiting, reply);
      else waiting.early.push(reply);
  }

  #hint(runId: string): void {
    if (this.#unsent.size > 0) {
      this.#hints += 1;
      this.#hintedRuns.delete(runId);
      this.#hintedRuns.set(runId, this.#hints);
    }
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
    this.#sent(waiting);
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
        await this.#rejectParked(wanted.filter((_, i) => states[i]?.status === "parked"));
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
    const { runId, stage, status, name } = state;
    if (runId === null || status === null) return this.#settle(waiting, { stage: "gone" });
    if (name !== waiting.name) return this.#settle(waiting, { stage: "other", name });
    this.#settleEarly(waiting);
    // A run that has continued as new has handed the update on.
    this.#follow(waiting, runId);
    if (stage === "accepted" && waiting.accepted) return this.#settle(waiting, { stage });
    const fate = settledFate(state);
    if (fate) this.#settle(waiting, fate);
  }

  /** No code can decide about these now. Unless a person has paused the run, which waits for that person. */
  async #rejectParked(stuck: readonly Waiting[]): Promise<void> {
    const waiting = stuck.filter((one) => this.#waiting.has(one));
    if (waiting.length === 0) return;
    const { store, namespace } = this.#params;
    const runs = await store.runs.read({ runs: waiting.map(({ runId }) => ({ namespace, runId: runId as string })) });
    runs.forEach((run, i) => {
      if (run?.status === "parked" && run.error?.code !== PAUSED)
        this.#settle(waiting[i] as Waiting, { stage: "parked", run });
    });
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

function addTo(groups: Map<string, Set<Waiting>>, key: string, waiting: Waiting): void {
  const group = groups.get(key);
  if (group) group.add(waiting);
  else groups.set(key, new Set([waiting]));
}

function removeFrom(groups: Map<string, Set<Waiting>>, key: string, waiting: Waiting): void {
  const group = groups.get(key);
  group?.delete(waiting);
  if (group?.size === 0) groups.delete(key);
}
