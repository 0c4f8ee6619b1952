/**
 * Queries about runs that this process does not hold, open or closed, answered by its own code from the stored history. Nothing
 * is executed or written. What was replayed is kept for the next query, as long as the run has not moved on, and no query has
 * been caught changing it.
 */
import { readWholeHistory } from "../../calls/history-reader.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { Payload } from "../../model/payload.ts";
import type { Run } from "../../model/run.ts";
import { silentLogger } from "../../ports/logger.ts";
import { handlerNotFound, queryFailed } from "../../replay/handlers.ts";
import { describeDivergence } from "../../replay/history/divergence.ts";
import type { Machine } from "../../replay/machine.ts";
import { replayHistory } from "../../replay/replayer.ts";
import type { WorkflowCode } from "../code/workflow-registry.ts";

/** How many runs are kept; the one that was asked longest ago goes first. */
const KEPT_MAX = 50;

interface Kept {
  readonly epoch: number;
  readonly commit: number;
  readonly eventCount: number;
  readonly machine: Promise<Machine>;
}

export class QueryReplays {
  readonly #ports: PortsBundle;
  readonly #kept = new Map<string, Kept>();

  constructor(ports: PortsBundle) {
    this.#ports = ports;
  }

  async answer(run: Run, code: WorkflowCode, name: string, argument: Payload): Promise<Payload> {
    // It ended before its code came to its first wait: nothing says what that would have done.
    if (run.commit === 0) throw handlerNotFound(run, "query", name, []);
    const machine = await this.#machine(run, code);
    // Code that was never called does not fit what has ended it.
    if (machine.recorded.some(({ meta }) => meta?.neverCalled)) throw handlerNotFound(run, "query", name, []);
    if (machine.divergence) throw queryFailed(run, name, new Error(describeDivergence(machine.divergence)));
    if (machine.violation) throw queryFailed(run, name, machine.violation);
    // By a query that was answered at the same time.
    if (machine.spoiled) return this.answer(run, code, name, argument);
    try {
      return machine.query(name, argument);
    } finally {
      await this.#rested(run.runId, machine);
    }
  }

  /** Throws if the query has changed the machine, which then answers no other. */
  async #rested(runId: string, machine: Machine): Promise<void> {
    if (machine.spoiled) this.#kept.delete(runId);
    await new Promise<void>((resolve) => this.#ports.clock.immediate(resolve));
    if (machine.spoiled) this.#kept.delete(runId);
    machine.rested();
  }

  async #machine(run: Run, code: WorkflowCode): Promise<Machine> {
    const { runId, epoch, commit, eventCount } = run;
    const kept = this.#kept.get(runId);
    this.#kept.delete(runId);
    const same = kept?.commit === commit && kept.eventCount === eventCount && kept.epoch <= epoch;
    const now = same ? kept : { epoch, commit, eventCount, machine: this.#replay(run, code) };
    this.#kept.set(runId, now);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX) break;
      this.#kept.delete(oldest);
    }
    try {
      return await now.machine;
    } catch (error) {
      if (this.#kept.get(runId) === now) this.#kept.delete(runId);
      throw error;
    }
  }

  async #replay(run: Run, code: WorkflowCode): Promise<Machine> {
    const { clock, codec } = this.#ports;
    const history = await readWholeHistory(this.#ports, run, () => true);
    const opsMax = Number.POSITIVE_INFINITY;
    const machine = code.machine({ run, codec, log: silentLogger, history, begun: run.commit > 0, opsMax });
    return replayHistory(machine, (callback) => clock.immediate(callback));
  }
}
