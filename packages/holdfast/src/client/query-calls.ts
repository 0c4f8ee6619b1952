import { Batcher, type BatcherParams } from "../calls/batcher.ts";
import type { Run } from "../model/run.ts";
import type { AskAnswer, NewAsk, RunRef, Store } from "../ports/store.ts";

type AskRef = Pick<NewAsk, "namespace" | "askId">;

type Batching = Omit<BatcherParams<unknown, unknown>, "send" | "rows">;

/** The store calls of queries: many queries at once, few calls. */
export class QueryCalls {
  readonly #reads: Batcher<RunRef, Run | null>;
  readonly #asks: Batcher<NewAsk, void>;
  readonly #answers: Batcher<AskRef, AskAnswer | null>;
  readonly #forgotten: Batcher<AskRef, void>;

  constructor({ runs, asks }: Pick<Store, "runs" | "asks">, batching: Batching) {
    this.#reads = new Batcher({ ...batching, send: (refs) => runs.read({ runs: refs }) });
    this.#asks = new Batcher({ ...batching, send: async (some) => [await asks.ask({ asks: some })] });
    this.#answers = new Batcher({ ...batching, send: (some) => asks.read({ asks: some }) });
    this.#forgotten = new Batcher({ ...batching, send: async (some) => [await asks.forget({ asks: some })] });
  }

  read(run: RunRef): Promise<Run | null> {
    return this.#reads.add(run);
  }

  ask(ask: NewAsk): Promise<void> {
    return this.#asks.add(ask);
  }

  answer(ask: AskRef): Promise<AskAnswer | null> {
    return this.#answers.add(ask);
  }

  forget(ask: AskRef): Promise<void> {
    return this.#forgotten.add(ask);
  }
}
