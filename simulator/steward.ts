/** The owner of queues: sets their limits, and changes and removes them while everything runs. */
import type { Client } from "../packages/holdfast/src/client/client.ts";
import type { QueueOptions } from "../packages/holdfast/src/client/queues.ts";
import type { QueueLimits, RateLimit } from "../packages/holdfast/src/model/queue-limits.ts";
import type { Configuration } from "./configuration.ts";
import { type Caller, insist } from "./insist.ts";
import { drawLimits } from "./limit-evidence.ts";
import type { Trace } from "./trace.ts";
import { QUEUES } from "./workload/task.ts";

export interface StewardParams extends Caller {
  readonly trace: Trace;
  readonly complain: (text: string) => void;
}

export class Steward {
  readonly #params: StewardParams;
  #busy = 0;

  constructor(params: StewardParams) {
    this.#params = params;
  }

  get busy(): boolean {
    return this.#busy > 0;
  }

  /** Runs that talk may wait for each other, so their number is not limited. They are in the first of the queues. */
  begin({ limits: { changeMs }, workload: { talks } }: Configuration, over: () => boolean): void {
    QUEUES.forEach((queue, i) => {
      this.#busy += 1;
      const done = (): void => {
        this.#busy -= 1;
      };
      this.#own(queue, changeMs, talks && i === 0, over).then(done, (error: unknown) => {
        done();
        this.#params.complain(`the steward: ${error}`);
      });
    });
  }

  async #own(queue: string, changeMs: number, waits: boolean, over: () => boolean): Promise<void> {
    const { dice, time } = this.#params;
    await this.#set(queue, drawLimits(dice, { waits, last: false }));
    while (!over()) {
      await time.wait(changeMs === 0 ? 500 : dice.between(0.1, 2) * changeMs);
      if (changeMs > 0 && !over()) await this.#set(queue, drawLimits(dice, { waits, last: false }));
    }
    await this.#set(queue, drawLimits(dice, { waits, last: true }));
  }

  async #set(queue: string, limits: QueueLimits | null): Promise<void> {
    const { time, trace } = this.#params;
    trace.add(time.elapsedMs, "steward", undefined, `limits of ${queue}: ${JSON.stringify(limits)}`);
    await insist(this.#params, (client: Client) => client.queues.set(queue, optionsFor(limits)), []);
  }
}

function optionsFor(limits: QueueLimits | null): QueueOptions {
  if (!limits) return {};
  const { rate, perKey, agingMs, ...others } = limits;
  const ratesOf = (given: RateLimit | undefined) =>
    given ? { rate: { limit: given.limit, per: { milliseconds: given.perMs }, burst: given.burst } } : {};
  return {
    ...others,
    ...ratesOf(rate),
    ...(perKey
      ? {
          perKey: {
            ...(perKey.concurrency === undefined ? {} : { concurrency: perKey.concurrency }),
            ...ratesOf(perKey.rate),
          },
        }
      : {}),
    ...(agingMs === undefined ? {} : { aging: { milliseconds: agingMs } }),
  };
}
