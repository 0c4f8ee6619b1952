import type { Configuration, Trouble } from "./configuration.ts";
import type { Dice } from "./dice.ts";
import type { SimProcess } from "./process.ts";
import type { SimStore } from "./store/sim-store.ts";

/** What the trouble maker can do to the scenario. */
export interface Victims {
  readonly store: SimStore;
  processes(): readonly SimProcess[];
  clients(): readonly SimProcess[];
  /** All processes get new code at once. */
  deploy(): void;
  /** The process comes back offering second versions too. */
  offerSecond(process: SimProcess): void;
  note(text: string): void;
}

/** Injects faults now and then, until it is told to heal. */
export class TroubleMaker {
  readonly #configuration: Configuration;
  readonly #victims: Victims;
  readonly #dice: Dice;
  #healed = false;
  count = 0;

  constructor(configuration: Configuration, victims: Victims, dice: Dice) {
    this.#configuration = configuration;
    this.#victims = victims;
    this.#dice = dice;
  }

  start(): void {
    const { everyMs } = this.#configuration.trouble;
    if (everyMs > 0) this.#next(everyMs);
  }

  #next(everyMs: number): void {
    this.#victims.store.time.at(this.#dice.between(0.1, 1.9) * everyMs, () => {
      if (this.#healed) return;
      const trouble = this.#dice.weighted(this.#configuration.trouble.weights);
      if (trouble) this.#cause(trouble);
      this.#next(everyMs);
    });
  }

  /** What was held back happens now, and nothing new goes wrong. */
  heal(): void {
    this.#healed = true;
    const { store } = this.#victims;
    store.healed = true;
    for (const process of [...this.#victims.processes(), ...this.#victims.clients()]) this.#mend(process);
  }

  #mend(process: SimProcess): void {
    process.troubled = false;
    process.lane.lagMs = 0;
    process.connection.reconnect();
    process.thaw();
  }

  #cause(trouble: Trouble): void {
    const { store } = this.#victims;
    const dice = this.#dice;
    const { leaseMs } = this.#configuration.worker;
    const everybody = trouble === "killClient" ? this.#victims.clients() : this.#victims.processes();
    if (everybody.length === 0) return;
    const process = dice.pick(everybody);
    this.count += 1;
    this.#victims.note(
      `${trouble} ${["outage", "storeJump", "deploy", "killAll"].includes(trouble) ? "" : process.name}`,
    );
    if (trouble === "outage") store.downUntil = store.time.elapsedMs + dice.between(0.2, 3) * leaseMs;
    else if (trouble === "storeJump") store.jump(dice.pick([200, 2_000, 30_000]));
    else if (trouble === "deploy") this.#victims.deploy();
    else if (trouble === "killAll") for (const one of everybody) one.light(dice.int(1, 10));
    else this.#befall(trouble, process, leaseMs);
  }

  #befall(trouble: Trouble, process: SimProcess, leaseMs: number): void {
    const dice = this.#dice;
    const { time } = this.#victims.store;
    const later = (then: () => void): void => void time.at(dice.between(0.1, 4) * leaseMs, then);
    if (trouble === "dropConnection") return process.connection.drop();
    if (trouble === "clockJump") {
      process.clock.skewMs += dice.pick([100, 3_000, 100_000]);
      return;
    }
    if (process.troubled) return;
    process.troubled = true;
    const well = (): void => this.#mend(process);
    switch (trouble) {
      case "kill":
      case "killClient":
        return process.light(dice.int(1, dice.pick([3, 40])));
      case "newVersion":
        return this.#victims.offerSecond(process);
      case "freeze":
        process.freeze();
        return later(well);
      case "cutOff":
        process.connection.cutOff();
        return later(well);
      case "slow":
        process.lane.lagMs = dice.pick([1, 20, 100]);
        return later(well);
      default:
        void this.#leave(process, trouble as "drain" | "stop");
    }
  }

  async #leave(process: SimProcess, how: "drain" | "stop"): Promise<void> {
    const { worker } = process;
    await worker?.[how]();
    process.troubled = false;
    await worker?.start().catch(() => process.kill());
  }
}
