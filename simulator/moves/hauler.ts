/** Movers: processes that take runs from one store to another, several at a time, and die or stand still at any call. */
import { Client } from "../../packages/holdfast/src/client/client.ts";
import { isHoldfastError } from "../../packages/holdfast/src/errors/holdfast-error.ts";
import type { SimTime } from "../clock.ts";
import type { Dice } from "../dice.ts";
import type { SimNotifier } from "../notifier.ts";
import type { SimProcess } from "../process.ts";
import { Connection } from "../store/connection.ts";
import type { Trace } from "../trace.ts";
import type { Place } from "./whereabouts.ts";

/** A store, and how its processes hear of it. */
export interface Yard extends Place {
  readonly notifier: SimNotifier;
}

export interface HaulerParams {
  readonly time: SimTime;
  readonly trace: Trace;
  readonly dice: Dice;
  readonly yards: readonly Yard[];
  readonly addProcess: (at: Yard) => SimProcess;
  readonly complain: (text: string) => void;
}

/** A mover that waits for runs which are held is given up after this time. */
const PATIENCE_MS = 15_000;
const AWAY = ["store_unavailable", "store_outcome_unknown"];

export class Hauler {
  readonly #params: HaulerParams;
  #busy = 0;
  moved = 0;
  deaths = 0;
  /** Nothing is on its way any more. */
  finished = false;

  constructor(params: HaulerParams) {
    this.#params = params;
  }

  get busy(): boolean {
    return this.#busy > 0;
  }

  /** So many movers at a time, each between two stores of its own choice. */
  begin(movers: number, over: () => boolean): void {
    for (let i = 0; i < movers; i++) void this.#during(() => this.#haul(over));
  }

  /** Whatever has been left on its way is brought to its end. */
  finish(): void {
    void this.#during(async () => {
      for (const from of this.#params.yards)
        for (const to of this.#params.yards) if (from !== to) await this.#once(from, to, undefined, "nothing");
      this.finished = true;
    });
  }

  async #haul(over: () => boolean): Promise<void> {
    const { time, dice, yards } = this.#params;
    while (!over()) {
      await time.wait(dice.between(50, dice.pick([2_000, 2_000, 12_000])));
      const from = dice.pick(yards);
      const to = dice.pick(yards.filter((yard) => yard !== from));
      const uses = dice.chance(0.7) ? dice.int(1, dice.pick([6, 40, 300])) : undefined;
      await this.#once(from, to, uses, undefined);
    }
  }

  /** `uses`: after how many uses of a port it dies. `workflow`: only runs of that one leave; earlier departures are finished. */
  async #once(from: Yard, to: Yard, uses: number | undefined, workflow: string | undefined): Promise<void> {
    const { time, trace, dice } = this.#params;
    const process = this.#params.addProcess(from);
    const far = new Connection(to.store, process.lane, process.name, false, () => process.use());
    const ports = { ...process.ports, store: far.port(), notifier: to.notifier.forLane(process.lane) };
    const target = new Client(ports, "default", async () => {});
    trace.add(time.elapsedMs, process.name, undefined, `moves from ${from.name} to ${to.name}`);
    if (uses !== undefined) process.light(uses);
    // While it stands still, another mover may finish its work.
    else if (workflow === undefined) process.stallAfter(dice.int(2, dice.pick([6, 40])), dice.between(500, 12_000));
    const options = { to: target, by: process.name, ...(workflow === undefined ? {} : { filter: { workflow } }) };
    for (;;) {
      const answer = await Promise.race([
        process.client.move(options).then(
          (value) => ({ value }),
          (error: unknown) => ({ error }),
        ),
        process.gone,
        time.wait(PATIENCE_MS),
      ]);
      if (process.dead) this.deaths += 1;
      if (answer && "value" in answer) this.moved += answer.value.runs;
      const again = answer && "error" in answer && isHoldfastError(answer.error) && AWAY.includes(answer.error.code);
      if (answer && "error" in answer && !again) this.#params.complain(`a move: ${answer.error}`);
      if (workflow === undefined || (answer && "value" in answer)) break;
    }
    process.end();
  }

  async #during(work: () => Promise<void>): Promise<void> {
    this.#busy += 1;
    await work().catch((error: unknown) => this.#params.complain(`a mover: ${error}`));
    this.#busy -= 1;
  }
}
