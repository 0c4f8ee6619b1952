import type { Client } from "../packages/holdfast/src/client/client.ts";
import { isHoldfastError } from "../packages/holdfast/src/errors/holdfast-error.ts";
import type { SimTime } from "./clock.ts";
import type { Dice } from "./dice.ts";
import type { SimProcess } from "./process.ts";

export interface Caller {
  readonly time: SimTime;
  readonly dice: Dice;
  /** Any live process to make a call from. */
  readonly anybody: () => SimProcess | undefined;
}

/** The store is away, or the run waits for code that does not park it. */
const TRY_AGAIN = ["store_unavailable", "store_outcome_unknown", "run_parked"];

/** Makes a call from any live process until it is answered. The answer, or undefined if it is an expected refusal. */
export async function insist<T>(
  { time, dice, anybody }: Caller,
  call: (client: Client, process: SimProcess) => Promise<T>,
  fine: readonly string[],
): Promise<{ readonly value: T } | undefined> {
  for (;;) {
    const process = anybody();
    if (process) {
      const answer = await Promise.race([
        call(process.client, process).then(
          (value) => ({ value }),
          (error: unknown) => ({ error }),
        ),
        process.gone,
      ]);
      if (answer && "value" in answer) return answer;
      if (answer && isHoldfastError(answer.error) && fine.includes(answer.error.code)) return undefined;
      if (answer && !(isHoldfastError(answer.error) && TRY_AGAIN.includes(answer.error.code))) throw answer.error;
    }
    await time.wait(dice.between(20, 400));
  }
}
