import type { Debt } from "../model/debt.ts";
import { DEFAULT_LIMITS } from "../model/limits.ts";
import { payDebts } from "./debt-payment.ts";
import type { ReserveDelivery } from "./holding-delivery.ts";
import type { Lifetime } from "./lifetime.ts";
import type { PortsBundle } from "./ports-bundle.ts";
import { backoff, isTransient, untilAnswered } from "./store-retry.ts";

const DEBTS_MAX = 500;
/** What is still locked after so many tries is left to a sweep. */
const IDLE_ROUNDS_MAX = 8;

interface PayerPorts extends Pick<PortsBundle, "clock" | "random" | "store" | "log" | "limits"> {
  readonly reserve?: ReserveDelivery;
}

interface Owing {
  readonly namespace: string;
  readonly runId: string;
  /** All that it owes; undefined: the store knows. */
  readonly debt?: Debt | undefined;
}

/**
 * Pays what runs owe to others, as soon as a call of this process has made them owe it: many at once, one batch after the
 * other. What it does not come to, because the process dies, the sweep of any worker finds.
 */
export class Payer {
  readonly #ports: PayerPorts;
  readonly #life: Lifetime;
  #wanted = new Map<string, Owing>();
  #all = false;
  #paying: Promise<void> | undefined;

  constructor(ports: PayerPorts, life: Lifetime) {
    this.#ports = ports;
    this.#life = life;
  }

  /** The run owes something. `debt`: all that it owes, if that is known. */
  note({ namespace, runId }: Owing, debt?: Debt): void {
    this.#wanted.set(runId, { namespace, runId, debt: this.#wanted.has(runId) ? undefined : debt });
    this.#begin();
  }

  /** Somebody owes something. */
  noteAny(): void {
    this.#all = true;
    this.#begin();
  }

  /** Everything that is known to be owed has been paid, or left to a sweep. */
  untilIdle(): Promise<void> {
    return this.#paying ?? Promise.resolve();
  }

  #begin(): void {
    if (this.#paying !== undefined) return;
    this.#paying = new Promise((resolve) => {
      // In a later macrotask: what ends together is paid together.
      this.#ports.clock.immediate(() => void this.#payAll().then(resolve));
    });
  }

  async #payAll(): Promise<void> {
    while (this.#wanted.size > 0 || this.#all) {
      const owing = [...this.#wanted.values()].slice(0, DEBTS_MAX);
      for (const { runId } of owing) this.#wanted.delete(runId);
      if (owing.length === 0) this.#all = false;
      try {
        const runs = await this.#payKnown(owing);
        if (owing.length === 0 || runs.length > 0) await this.#pay(owing.length > 0 ? { runs } : {});
      } catch (error) {
        if (!this.#life.over && !isTransient(error))
          this.#ports.log.error({ error: String(error) }, "telling other runs of what has happened to a run failed");
      }
    }
    this.#paying = undefined;
  }

  /** Pays what need not be read. Returns the runs that owe something else, or whose payment did not reach everybody. */
  async #payKnown(owing: readonly Owing[]): Promise<readonly Owing[]> {
    const debts = owing.flatMap(({ debt }) => debt ?? []);
    if (debts.length === 0) return owing;
    const { clock, random, store, limits, reserve } = this.#ports;
    const { inboxMax } = limits ?? DEFAULT_LIMITS;
    const patience = { clock, random, life: this.#life };
    const { noted } = await untilAnswered(
      patience,
      () => payDebts(store, debts, inboxMax, reserve),
      () => this.#life.over,
    );
    return noted === debts.length ? owing.filter(({ debt }) => debt === undefined) : owing;
  }

  async #pay(of: { readonly runs?: readonly Owing[] }): Promise<void> {
    const { clock, random, store, limits, reserve } = this.#ports;
    const { inboxMax } = limits ?? DEFAULT_LIMITS;
    const patience = { clock, random, life: this.#life };
    const giveUp = (): boolean => this.#life.over;
    for (let idle = 0; idle < IDLE_ROUNDS_MAX; ) {
      const debts = await untilAnswered(patience, () => store.debts.read({ ...of, limit: DEBTS_MAX }), giveUp);
      if (debts.length === 0) return;
      const { paid, owing } = await untilAnswered(patience, () => payDebts(store, debts, inboxMax, reserve), giveUp);
      for (const run of owing) this.#wanted.set(run.runId, run);
      idle = paid === 0 ? idle + 1 : 0;
      if (paid === 0) await backoff(patience, idle);
    }
  }
}
