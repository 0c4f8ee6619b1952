/**
 * Retention: the leader deletes runs that ended longer ago than their namespace keeps them. It makes a round at least once a minute:
 * reads the rules of all namespaces, and goes through what they name, a small batch of each in turn.
 *
 * A batch locks the runs that it deletes, and nothing that is open. After each batch it rests for many times as long as the batch was at
 * work, so that a purge of millions costs the others a small part of the store's time. In a busy process most of what a call takes is its
 * wait for a turn: as much as a call takes that does nothing. A round that takes long is
 * ended and begun again: rules that have changed count from then on, and nothing is lost, because what is deleted is gone.
 *
 * That pace does not do for a store in which more ends than that, for hours. So after a round that has not come to its end it looks at
 * how many runs have ended in the last hour, and rests less and deletes more at a time, as far as it must to delete more than those.
 */
import { EarliestTimer } from "../../calls/earliest-timer.ts";
import { isTransient } from "../../calls/store-retry.ts";
import { batchNamespace } from "../../model/batch.ts";
import type { ClosedStatus } from "../../model/run-status.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { EndPosition, NamespaceRetention, PurgeRunsParams, Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** From the end of a round to the next one: at least one a minute. After a failure, and how long a round may take: half of that. */
const REPEAT_MS = 50_000;
const ROUND_MS = REPEAT_MS / 2;
const RUNS_PER_BATCH = 250;
/** How many times as long as a batch was at work nothing is deleted after it; and the least, the most, and what counts where a batch takes long. */
const REST_FACTOR = 20;
const REST_MS_MIN = 20;
const REST_MS_MAX = 1_000;
const REST_FACTOR_LONG = 10;
/** The least if it would fall behind otherwise; how far it looks back for that, and how much faster than runs end it is then. */
const REST_FACTOR_MIN = 2;
/** So many batches a second, as long as none is larger than this: each waits for a turn, and not many do in a second. */
const BATCHES_PER_SECOND = 2;
const RUNS_PER_BATCH_MAX = 1_000;
const LOOKED_BACK_MS = 60 * 60 * 1000;
const FASTER = 1.5;

export interface RetentionDutyParams {
  readonly clock: Clock;
  readonly store: Store;
  readonly log: Logger;
  readonly telemetry?: Telemetry;
}

/** Runs of a namespace that are kept for the same time, and how far this round has come. */
interface Stretch {
  readonly namespace: string;
  readonly statuses: readonly ClosedStatus[];
  readonly keptMs: number;
  readonly after?: EndPosition;
}

interface Round {
  /** By the store's clock. */
  readonly now: number;
  readonly endsAt: number;
  /** How many are to be deleted per second, at least; 0: at its usual pace. */
  readonly perSecond: number;
  /** In which order they have their turns. */
  stretches: readonly Stretch[];
  purged: number;
}

export class RetentionDuty {
  readonly #params: RetentionDutyParams;
  readonly #timer: EarliestTimer;
  #running = false;
  #wanted = false;
  #busy = false;
  /** The last round has not come to its end. */
  #behind = false;
  #round: Round | undefined;

  constructor(params: RetentionDutyParams) {
    this.#params = params;
    this.#timer = new EarliestTimer(params.clock, () => void this.#work(), "passive");
  }

  start(): void {
    this.#running = true;
    if (this.#wanted) this.#timer.ringIn(0);
  }

  stop(): void {
    this.#running = false;
    this.#timer.cancel();
  }

  /** Whether this worker leads, and there is a namespace whose runs are deleted some day. */
  told(wanted: boolean): void {
    const begins = wanted && !this.#wanted;
    this.#wanted = wanted;
    if (begins && this.#running) this.#timer.ringIn(0);
    if (wanted) return;
    this.#timer.cancel();
    this.#round = undefined;
  }

  /** The rules have changed: a new round begins. */
  look(): void {
    this.#wanted = true;
    this.#round = undefined;
    if (this.#running) this.#timer.ringIn(0);
  }

  async #work(): Promise<void> {
    if (this.#busy || !this.#goesOn) return;
    this.#busy = true;
    let restMs = ROUND_MS;
    try {
      restMs = await this.#step();
    } catch (error) {
      this.#round = undefined;
      this.#params.telemetry?.count("retention_rounds", 1, { outcome: "failed" });
      if (!isTransient(error)) this.#params.log.error({ error: String(error) }, "retention failed; trying again");
    } finally {
      this.#busy = false;
      if (this.#goesOn) this.#timer.ringIn(restMs);
    }
  }

  get #goesOn(): boolean {
    return this.#running && this.#wanted;
  }

  /** Begins a round, or deletes one batch. Returns how long to rest. */
  async #step(): Promise<number> {
    const { clock } = this.#params;
    this.#round ??= await this.#begin();
    const round = this.#round;
    const [stretch, ...others] = round.stretches;
    if (!stretch || clock.monotonic() > round.endsAt) return this.#end(round);
    const beganAt = clock.monotonic();
    await this.#params.store.readClock();
    const sentAt = clock.monotonic();
    const { purged, more, last } = await this.#params.store.runs.purge(batchOf(stretch, round));
    const endedAt = clock.monotonic();
    round.purged += purged;
    if (purged > 0) this.#params.telemetry?.count("runs_purged", purged, {});
    round.stretches = more && last ? [...others, { ...stretch, after: last }] : others;
    if (purged === 0) return 0;
    const workMs = Math.max(0, endedAt - sentAt - (sentAt - beganAt));
    const shortMs = Math.min(REST_MS_MAX, Math.max(REST_MS_MIN, REST_FACTOR * workMs));
    const usualMs = Math.max(shortMs, REST_FACTOR_LONG * workMs);
    if (round.perSecond === 0) return usualMs;
    const neededMs = (1_000 * purged) / round.perSecond - (endedAt - beganAt);
    return Math.min(usualMs, Math.max(REST_MS_MIN, REST_FACTOR_MIN * workMs, neededMs));
  }

  /** Runs of these namespaces that ended in the last hour, on average. */
  async #endedPerSecond(rules: readonly NamespaceRetention[], now: number): Promise<number> {
    let ended = 0;
    const when = { from: now - LOOKED_BACK_MS, to: now, grainMs: LOOKED_BACK_MS };
    for (const { namespace } of rules)
      for (const row of await this.#params.store.workers.readRates({ namespace, ...when })) ended += row.ended;
    return (1_000 * ended) / LOOKED_BACK_MS;
  }

  async #begin(): Promise<Round> {
    const { clock, store } = this.#params;
    const [{ now }, rules] = await Promise.all([store.readClock(), store.retention.list({})]);
    if (rules.length === 0) this.#wanted = false;
    const perSecond = this.#behind ? FASTER * (await this.#endedPerSecond(rules, now)) : 0;
    return { now, endsAt: clock.monotonic() + ROUND_MS, perSecond, stretches: rules.flatMap(stretchesOf), purged: 0 };
  }

  #end({ purged, stretches }: Round): number {
    this.#round = undefined;
    this.#behind = stretches.length > 0;
    const outcome = stretches.length > 0 ? "unfinished" : "finished";
    this.#params.telemetry?.count("retention_rounds", 1, { outcome });
    if (purged > 0) this.#params.log.info({ purged }, "runs were deleted that ended longer ago than they are kept");
    return stretches.length > 0 ? 0 : REPEAT_MS;
  }
}

/** Statuses with the same time go together; so do the batches of the namespace, which are runs beside it. */
function stretchesOf({ namespace, rules }: NamespaceRetention): Stretch[] {
  const byTime = new Map<number, ClosedStatus[]>();
  for (const [status, keptMs] of Object.entries(rules) as [ClosedStatus, number][])
    byTime.set(keptMs, [...(byTime.get(keptMs) ?? []), status]);
  return [...byTime].flatMap(([keptMs, statuses]) =>
    [namespace, batchNamespace(namespace)].map((where) => ({ namespace: where, statuses, keptMs })),
  );
}

function batchOf({ namespace, statuses, keptMs, after }: Stretch, { now, perSecond }: Round): PurgeRunsParams {
  const behind = after ? { after } : {};
  const what = { namespace, statuses, endedBefore: now - keptMs, ...behind };
  const needed = Math.ceil(perSecond / BATCHES_PER_SECOND);
  const limit = Math.min(RUNS_PER_BATCH_MAX, Math.max(RUNS_PER_BATCH, needed));
  return { ...what, limit, sparesLastOfSchedules: true };
}
