/**
 * Answers queries of processes that do not have the code of the run they ask about: takes them from the store when it is
 * hinted, and puts the answers there.
 */

import { Batcher } from "../../calls/batcher.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { untilAnswered } from "../../calls/store-retry.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import type { Payload } from "../../model/payload.ts";
import type { Run } from "../../model/run.ts";
import type { AnswerAsksParams, Ask, AskAnswer } from "../../ports/store.ts";
import type { WorkflowRegistry } from "../code/workflow-registry.ts";

const ASKS_PER_CALL = 100;
/** An ask whose worker cannot reach the store is taken by another one, or asked again. */
const FAILURES_MAX = 3;

export interface AskTakerParams {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly registry: WorkflowRegistry;
  /** Whether this worker may take anything. */
  readonly active: () => boolean;
  /** Answers from the run itself or from its history; undefined if the code is not here. */
  readonly answer: (run: Run, name: string, argument: Payload) => Promise<Payload> | undefined;
}

export class AskTaker {
  readonly #params: AskTakerParams;
  readonly #answers: Batcher<AnswerAsksParams["answers"][number], void>;
  #taking = false;
  #wanted = false;

  constructor(params: AskTakerParams) {
    this.#params = params;
    const { clock, random, store } = params.ports;
    this.#answers = new Batcher({
      clock,
      random,
      sizeMax: ASKS_PER_CALL,
      giveUp: (failures) => failures >= FAILURES_MAX,
      send: async (answers) => [await store.asks.answer({ answers })],
    });
  }

  /** Somebody has asked something. */
  poke(): void {
    this.#wanted = true;
    if (this.#taking) return;
    this.#taking = true;
    this.#params.ports.clock.immediate(() => void this.#takeAll());
  }

  async #takeAll(): Promise<void> {
    const { ports, namespace, registry, active } = this.#params;
    while (this.#wanted && active() && registry.all.length > 0) {
      this.#wanted = false;
      const handlers = registry.handlers.map(({ workflow, version }) => ({ workflow, version }));
      try {
        const { asks, more } = await this.#call(() =>
          ports.store.asks.take({ namespace, handlers, limit: ASKS_PER_CALL }),
        );
        this.#wanted ||= more;
        // Not awaited: a long history must not delay the others.
        if (asks.length > 0) void this.#answerAll(asks);
      } catch (error) {
        ports.log.warn({ error: String(error) }, "could not take queries of other processes; they will be asked again");
      }
    }
    this.#taking = false;
  }

  async #answerAll(asks: readonly Ask[]): Promise<void> {
    const { store, log } = this.#params.ports;
    try {
      const runs = await this.#call(() =>
        store.runs.read({ runs: asks.map(({ namespace, runId }) => ({ namespace, runId })) }),
      );
      await Promise.all(asks.map((ask, i) => this.#answerOne(ask, runs[i] ?? null)));
    } catch (error) {
      log.warn({ error: String(error) }, "could not answer queries of other processes; they will be asked again");
    }
  }

  async #answerOne({ askId, namespace, name, payload }: Ask, run: Run | null): Promise<void> {
    const { ports, answer } = this.#params;
    // Purged since it was asked: the caller finds that out by itself.
    const answering = run ? answer(run, name, payload) : undefined;
    if (!answering) return;
    const { redact } = ports;
    const given: AskAnswer = await answering.then(
      (result) => ({ type: "answered" as const, payload: result }),
      (error: unknown) => ({ type: "failed" as const, error: toErrorRecord(error, redact ? { redact } : {}) }),
    );
    await this.#answers.add({ namespace, askId, answer: given });
  }

  #call<T>(send: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#params.ports;
    return untilAnswered({ clock, random }, send, (failures) => failures >= FAILURES_MAX);
  }
}
