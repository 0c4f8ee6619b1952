/**
 * Replays a sample of the runs that end on this worker against their own stored history, and reports those whose code does
 * something else the second time. One at a time, when the run has left; nothing is executed, written or published.
 */
import { readWholeHistory } from "../../calls/history-reader.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { jsonCodec } from "../../codec/json-codec.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { HistoryEvent } from "../../model/event.ts";
import type { Payload } from "../../model/payload.ts";
import type { Run } from "../../model/run.ts";
import { silentLogger } from "../../ports/logger.ts";
import type { Machine, Outcome } from "../../replay/machine.ts";
import { explainDivergence, replayHistory } from "../../replay/replayer.ts";
import type { WorkflowCode, WorkflowRegistry } from "../code/workflow-registry.ts";
import type { ReplayedRun, VerifyReplayOptions } from "./verify-replay.ts";

/** Of a sample, those that end while many are waiting are passed over: checking must not keep histories in memory. */
const WAITING_MAX = 100;

/** How a run may have ended whose code came to that end. */
const ENDS: Readonly<Partial<Record<Run["status"], Outcome["type"]>>> = {
  completed: "completed",
  failed: "failed",
  canceled: "failed",
  timed_out: "failed",
  continued: "continued",
};

export class ReplayCheck {
  readonly #ports: PortsBundle;
  readonly #registry: WorkflowRegistry;
  readonly #sample: number;
  readonly #onDivergence: VerifyReplayOptions["onDivergence"];
  readonly #waiting: Run[] = [];
  #work: Promise<void> | undefined;

  constructor(ports: PortsBundle, registry: WorkflowRegistry, { sample = 1, onDivergence }: VerifyReplayOptions) {
    this.#ports = ports;
    this.#registry = registry;
    this.#sample = sample;
    this.#onDivergence = onDivergence;
  }

  /** The run has ended here. */
  ended(run: Run): void {
    if (this.#waiting.length >= WAITING_MAX || (this.#sample < 1 && this.#ports.random.next() >= this.#sample)) return;
    this.#waiting.push(run);
    this.#work ??= this.#checkAll();
  }

  /** Passes over those that wait, and resolves when none is being replayed. */
  async stop(): Promise<void> {
    this.#waiting.length = 0;
    await this.#work;
  }

  /** Resolves when nothing is left to check. */
  async untilIdle(): Promise<void> {
    await this.#work;
  }

  async #checkAll(): Promise<void> {
    for (let run = this.#waiting.shift(); run; run = this.#waiting.shift()) {
      try {
        await this.#check(run);
      } catch (cause) {
        // The store is away, or the value of a step needs another key: that says nothing about the code.
        const { runId, id, workflow } = run;
        this.#ports.log.debug({ runId, id, workflow, error: String(cause) }, "an ended run could not be replayed");
      }
    }
    this.#work = undefined;
  }

  async #check({ namespace, runId, workflow, version }: Run): Promise<void> {
    const { store, telemetry } = this.#ports;
    const code = this.#registry.code(workflow, version);
    const [run] = await store.runs.read({ runs: [{ namespace, runId }] });
    const end = run ? ENDS[run.status] : undefined;
    if (!code || !run || end === undefined) return;
    const history = await readWholeHistory(this.#ports, run, () => true);
    // Its code was never called: calling it now would say nothing about that history.
    if (history.some(({ meta }) => meta?.neverCalled)) return;
    const fault = await this.#faultOf(run, code, history, end);
    telemetry?.count("replays_verified", 1, { workflow, outcome: fault ? "diverged" : "same" });
    if (fault) this.#report(run, fault);
  }

  async #faultOf(
    run: Run,
    code: WorkflowCode,
    history: readonly HistoryEvent[],
    end: Outcome["type"],
  ): Promise<HoldfastError | undefined> {
    const { clock, codec } = this.#ports;
    const immediate = (callback: () => void): void => clock.immediate(callback);
    const make = (locate: boolean): Machine => {
      const opsMax = Number.POSITIVE_INFINITY;
      return code.machine({ run, codec, log: silentLogger, history, begun: run.commit > 0, opsMax, locate });
    };
    const machine = await replayHistory(make(false), immediate);
    if (machine.divergence) return explainDivergence(machine, make(true), immediate);
    if (machine.violation) return machine.violation;
    const { outcome } = machine;
    // Whoever retries a run by hand, or cancels it while it ends, decides about the end, not the code.
    if (outcome?.type === "retried" || (machine.cancelCause && outcome)) return undefined;
    if (outcome?.type !== end) {
      const now = outcome
        ? outcome.type
        : `waiting for ${
            machine
              .firstPending(3)
              .map(({ id }) => id)
              .join(", ") || "nothing"
          }`;
      return diverged(run, `the run ${run.status}; when it is replayed, its code is ${now}`);
    }
    if (outcome.type === "completed" && !this.#isSame(outcome.output, run.output))
      return diverged(run, "the code returns another output when it is replayed");
    return undefined;
  }

  /** By value: the same value may have other bytes each time. */
  #isSame(replayed: Payload, stored: Payload | null): boolean {
    const { codec } = this.#ports;
    const [a, b] = [replayed, stored ?? new Uint8Array()].map((payload) =>
      jsonCodec.encode(codec.decode(payload), "output"),
    ) as [Payload, Payload];
    return a.length === b.length && a.every((byte, i) => byte === b[i]);
  }

  #report({ id, runId, workflow, version }: Run, error: HoldfastError): void {
    const about: ReplayedRun = { id, runId, workflow, version };
    const advice =
      "Code that is not deterministic parks runs after a crash or a deployment: take time, randomness and ids from ctx";
    this.#ports.log.error({ ...about, error: error.message }, `a run that has ended does not replay. ${advice}`);
    try {
      this.#onDivergence?.(error, about);
    } catch (thrown) {
      this.#ports.log.warn({ ...about, error: String(thrown) }, "verifyReplay.onDivergence has thrown an error");
    }
  }
}

function diverged({ id, runId, workflow }: Run, what: string): HoldfastError {
  const message = `Workflow "${workflow}", run "${id}" (${runId}): ${what}.`;
  return new HoldfastError("replay_divergence", message, { data: { id, runId, workflow } });
}
