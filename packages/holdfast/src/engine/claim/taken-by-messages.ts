/**
 * Runs that messages of this process have taken for one of its workers. They rest in the cache of that worker, and continue from
 * memory with messages that are known: the answer to the call need not bring either. If there is no answer, or a run does not rest
 * here any more, the runs are read under the claim id of the call, as after a claim without an answer. What is still not found
 * (the call takes effect later) is released by the reconciler.
 */
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { isTransient, untilAnswered } from "../../calls/store-retry.ts";
import { type Message, messagesByRun } from "../../model/message.ts";
import type { DeliverMessage, DeliverMessagesParams, DeliverOutcome } from "../../ports/store.ts";
import type { Lease } from "../lease/lease.ts";
import type { HeldRuns } from "./held-runs.ts";

export interface TakenByMessagesParams {
  readonly ports: PortsBundle;
  readonly held: HeldRuns;
  readonly lease: Lease;
  readonly messages: readonly DeliverMessage[];
  readonly holdBy: NonNullable<DeliverMessagesParams["holdBy"]>;
}

export class TakenByMessages {
  readonly #params: TakenByMessagesParams;
  /** Those that continue already. */
  readonly #awake = new Set<string>();

  constructor(params: TakenByMessagesParams) {
    this.#params = params;
  }

  /** `done`: all of them are held here, or never will be. */
  settle(outcomes: readonly DeliverOutcome[] | undefined, done: () => void): void {
    const { ports, lease, holdBy } = this.#params;
    // Declared dead or stopped in the meantime: its runs have been reclaimed.
    if (lease.workerId !== holdBy.workerId) return done();
    if (outcomes && this.#wake(outcomes)) return done();
    const read = this.#readTaken().catch((error) => {
      if (!isTransient(error))
        ports.log.error({ error: String(error) }, "reading runs that messages have taken failed");
    });
    void read.then(done);
  }

  /** Returns whether all of them continue. */
  #wake(outcomes: readonly DeliverOutcome[]): boolean {
    const { held, holdBy } = this.#params;
    let all = true;
    for (const [runId, { epoch, messages }] of this.#byRun(outcomes)) {
      const hold = { epoch: epoch + 1, heldBy: holdBy.workerId, claimId: holdBy.claimId };
      if (held.wake(runId, hold, messages)) this.#awake.add(runId);
      else all = false;
    }
    return all;
  }

  /** The runs that were taken, with the epoch that they had, and their messages. */
  #byRun(outcomes: readonly DeliverOutcome[]): Map<string, { epoch: number; readonly messages: Message[] }> {
    const runs = new Map<string, { epoch: number; readonly messages: Message[] }>();
    outcomes.forEach(({ runId, held }, i) => {
      if (!held || runId === null) return;
      const { kind, name, messageId, payload, hold } = this.#params.messages[i] as DeliverMessage;
      const run = runs.get(runId) ?? { epoch: 0, messages: [] };
      runs.set(runId, run);
      if (hold?.runId === runId) run.epoch = hold.epoch;
      run.messages.push({ runId, number: held.number, kind, name, messageId, payload, at: held.at });
    });
    return runs;
  }

  async #readTaken(): Promise<void> {
    const { ports, held, lease, holdBy, messages } = this.#params;
    const { namespace } = (messages.find(({ hold }) => hold) as DeliverMessage).to;
    const outdated = (): boolean => lease.workerId !== holdBy.workerId;
    const nothingMore = { namespace, queues: [], handlers: [], again: true, limit: 0, solo: false };
    const result = await untilAnswered(ports, () => ports.store.runs.claim({ ...holdBy, ...nothingMore }), outdated);
    if (outdated()) return;
    const messagesOf = messagesByRun(result.messages);
    for (const run of result.runs) if (!this.#awake.has(run.runId)) held.activate(run, messagesOf(run.runId));
  }
}
