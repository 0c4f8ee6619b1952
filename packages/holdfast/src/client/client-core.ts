import { Batcher } from "../calls/batcher.ts";
import { readWholeHistory } from "../calls/history-reader.ts";
import type { Lifetime } from "../calls/lifetime.ts";
import type { PortsBundle } from "../calls/ports-bundle.ts";
import {
  type GiveUp,
  isLasting,
  lockedMs,
  pause,
  rowLocked,
  type StorePatience,
  untilAnswered,
} from "../calls/store-retry.ts";
import { toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { HistoryEvent } from "../model/event.ts";
import { newRunId, uuidV7 } from "../model/ids.ts";
import { DEFAULT_LIMITS } from "../model/limits.ts";
import type { LiveRun } from "../model/live-run.ts";
import type { Run } from "../model/run.ts";
import type {
  DeliverMessage,
  DeliverOutcome,
  RunRef,
  StartOutcome,
  StartRun,
  StartRunsParams,
  Store,
  TerminateOutcome,
} from "../ports/store.ts";
import type { ResultWaiter } from "./result-waiter.ts";

/**
 * A call that has been repeated, and for this long, is not sent again. A store may be patient itself, before it reports a failure:
 * by time, and not by the number of failures, the whole call takes about 20 seconds on any store.
 */
const CALL_PATIENCE_MS = 15_000;
const BATCH_SIZE_MAX = 500;

const REPLACED = toErrorRecord(
  new HoldfastError("run_terminated", "replaced by a newer run of the same id", { data: { reason: "replaced" } }),
);

type HoldBy = NonNullable<StartRunsParams["holdBy"]>;

interface StartItem {
  readonly start: StartRun;
  readonly holdBy: HoldBy | undefined;
}

interface StartGroup {
  readonly items: StartItem[];
  readonly ids: Set<string>;
  /** The worker that claims the runs with a hold. */
  holdBy: HoldBy | null;
}

/** What a client and its run handles share. */
export class ClientCore {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly waiter: ResultWaiter;
  readonly starts: Batcher<StartItem, StartOutcome>;
  readonly messages: Batcher<DeliverMessage, DeliverOutcome>;
  readonly life: Lifetime;
  /** What a worker of this client knows about a run that it holds. */
  readonly look: (runId: string) => LiveRun | undefined;

  constructor(
    ports: PortsBundle,
    namespace: string,
    waiter: ResultWaiter,
    life: Lifetime,
    look: ClientCore["look"] = () => undefined,
  ) {
    const { clock, random } = ports;
    this.look = look;
    this.life = life;
    this.ports = ports;
    this.namespace = namespace;
    this.waiter = waiter;
    const batching = { clock, random, life, sizeMax: BATCH_SIZE_MAX, giveUp: this.#giveUp };
    this.starts = new Batcher({
      ...batching,
      send: (items) => this.#sendStarts(items),
      rows: { of: ({ start }) => start.run.id, isBusy },
    });
    this.messages = new Batcher({
      ...batching,
      send: (items) => this.#sendMessages(items),
      rows: { of: ({ to }) => ("runId" in to ? to.runId : to.id), isBusy },
    });
  }

  /** One call for all starts, unless several workers claim some of the runs, or an id occurs more than once. */
  async #sendStarts(items: readonly StartItem[]): Promise<readonly StartOutcome[]> {
    const groups: StartGroup[] = [];
    for (const item of items) {
      const group = groups.find((other) => canTake(other, item)) ?? { items: [], ids: new Set(), holdBy: null };
      if (group.items.length === 0) groups.push(group);
      group.items.push(item);
      group.ids.add(item.start.run.id);
      if (item.holdBy) group.holdBy ??= { workerId: item.holdBy.workerId, claimId: item.holdBy.claimId };
    }
    const outcomes = new Map<StartItem, StartOutcome>();
    for (const group of groups) {
      const { holdBy } = group;
      const starts = group.items.map((item) => item.start);
      const result = await this.ports.store.runs.start({ starts, holdBy, replaceError: REPLACED });
      if (groups.length === 1) return result.outcomes;
      group.items.forEach((item, i) => {
        outcomes.set(item, result.outcomes[i] as StartOutcome);
      });
    }
    return items.map((item) => outcomes.get(item) as StartOutcome);
  }

  async #sendMessages(messages: readonly DeliverMessage[]): Promise<readonly DeliverOutcome[]> {
    const { inboxMax } = this.ports.limits ?? DEFAULT_LIMITS;
    // The same id twice is one message: the second is sent in its own call, so that the store reports it as a
    // duplicate.
    const first = new Map(messages.map((message, i) => [message.messageId, i] as const).reverse());
    const now = messages.filter((message, i) => first.get(message.messageId) === i);
    const later = messages.filter((message, i) => first.get(message.messageId) !== i);
    const { outcomes } = await this.ports.store.inbox.deliver({ messages: now, inboxMax });
    if (later.length === 0) return outcomes;
    const told = await this.#sendMessages(later);
    return messages.map(
      (message) =>
        (now.includes(message) ? outcomes[now.indexOf(message)] : told[later.indexOf(message)]) as DeliverOutcome,
    );
  }

  /** Ends a run, whichever worker holds it. If the run has continued as new, ends the current run of the chain. */
  async terminate(run: RunRef, error: ErrorRecord): Promise<TerminateOutcome> {
    for (let ref = run; ; ) {
      const target = ref;
      const outcome = await this.untilNotBusy(async (store) => {
        const [answer] = await store.runs.terminate({ runs: [target], error });
        return answer as TerminateOutcome;
      });
      if (outcome.status !== "continued" || outcome.runId === null) return outcome;
      const { runId } = outcome;
      const { namespace } = this;
      const [row] = await this.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
      if (!row?.continuedAs) return outcome;
      ref = { namespace, runId: row.continuedAs };
    }
  }

  /** For calls that write by themselves. Does nothing but in the core of a client that is part of a transaction. */
  requireNoTransaction(_call: string): void {}

  /** The run id of a new run; `id` is the user's own id, if there is one. */
  newRunId(id: string | undefined): string {
    return newRunId(this.namespace, id, this.ports.clock.now(), this.ports.random.bytes(16));
  }

  /** A new id for anything but a run. */
  newId(): string {
    return uuidV7(this.ports.clock.now(), this.ports.random.bytes(16));
  }

  /** An idempotent store call, repeated while the store is unavailable. */
  async call<T>(send: (store: Store) => Promise<T>): Promise<T> {
    this.life.assertOpen();
    return this.life.during(untilAnswered(this.#patience, () => send(this.ports.store), this.#giveUp));
  }

  /** The same without repetition: the first answer counts, success or failure. */
  async callOnce<T>(send: (store: Store) => Promise<T>): Promise<T> {
    this.life.assertOpen();
    return this.life.during(send(this.ports.store));
  }

  async readHistory(run: Run): Promise<HistoryEvent[]> {
    this.life.assertOpen();
    return this.life.during(readWholeHistory({ ...this.#patience, store: this.ports.store }, run, this.#giveUp));
  }

  /** The same for a call about one run whose row another transaction may have locked. */
  async untilNotBusy<R extends { readonly outcome: string }>(send: (store: Store) => Promise<R>): Promise<R> {
    const { clock, random } = this.ports;
    const began = clock.monotonic();
    for (let sends = 1; ; sends++) {
      const result = await this.call(send);
      if (!isBusy(result)) return result;
      const error = rowLocked();
      if (this.#giveUp(sends, error, clock.monotonic() - began)) throw error;
      await pause(this.#patience, lockedMs(random, sends));
    }
  }

  get #patience(): StorePatience {
    return { clock: this.ports.clock, random: this.ports.random, life: this.life };
  }

  // One failure is never the last word: only a repeat tells whether a call without an answer has taken effect.
  readonly #giveUp: GiveUp = (failures, error, waitedMs) =>
    this.life.over || (failures > 1 && waitedMs >= CALL_PATIENCE_MS) || isLasting(error);
}

function isBusy({ outcome }: { readonly outcome: string }): boolean {
  return outcome === "busy";
}

function canTake({ ids, holdBy }: StartGroup, { start, holdBy: wanted }: StartItem): boolean {
  return !ids.has(start.run.id) && (holdBy === null || wanted === undefined || holdBy.workerId === wanted.workerId);
}
