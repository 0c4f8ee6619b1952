import { jsonCodec } from "../packages/holdfast/src/codec/json-codec.ts";
import { HoldfastError } from "../packages/holdfast/src/errors/holdfast-error.ts";
import type { HistoryEvent } from "../packages/holdfast/src/model/event.ts";
import type { Stage } from "./workload/program.ts";

export interface Letter {
  readonly messageId: string;
  readonly name: string;
  readonly value: unknown;
}

/** The newest code, or the newest code that still has the retired steps. */
export const stage = (latest: boolean): Stage => ({
  generation: 1,
  retires: latest,
  flag: () => 0,
  commit: () => {},
  ask: (ctx, name) => ctx.step(name, () => undefined),
  perform: () => new Promise(() => {}),
});

export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

export function decoded(event: HistoryEvent): unknown {
  return event.payload === undefined ? undefined : jsonCodec.decode(event.payload);
}

export function cancellation(event: HistoryEvent): HoldfastError {
  return new HoldfastError(event.type === "deadline_reached" ? "run_timed_out" : "run_canceled", "canceled");
}

/** What code throws that continues as new. */
export class Continue {
  readonly input: unknown;
  constructor(input: unknown) {
    this.input = input;
  }
}
