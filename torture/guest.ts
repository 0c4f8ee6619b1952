/** A guest with one workflow, call by call: a test may end its server, or the guest itself, at each of them. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { WorkerService } from "@holdfast/protocol";

export const STEPS: readonly string[] = ["reserve", "charge", "ship"];

/** The guest, or its server, is gone. */
export class Cut extends Error {}

export interface GuestParams {
  readonly url: string;
  readonly workflow: string;
  /** Called around every call; throws to end the guest there. */
  readonly around: <R>(name: string, call: () => Promise<R>) => Promise<R>;
  /** An attempt of a step is executed. */
  readonly effect: (run: string, step: string) => void;
  /** The server has said that the step is completed. */
  readonly confirmed: (run: string, step: string) => void;
}

const LEASE_SECS = 5;
/** Longer than the server takes to answer: the run is handed back, and its end comes with another poll. */
const SLEEP_NANOS = 250_000_000;
/** Three in a lease, as the guide asks for. */
const HEARTBEAT_MS = (LEASE_SECS * 1_000) / 3;

/** Executes runs until one has ended; "stopped" if the next poll is to go on with it. */
export class Guest {
  readonly #params: GuestParams;
  readonly #client;
  #workerId = "";

  constructor(params: GuestParams) {
    this.#params = params;
    const transport = createGrpcTransport({ baseUrl: params.url });
    this.#client = createClient(WorkerService, transport);
  }

  async runUntilEnd(): Promise<void> {
    // Not one of the calls that a test counts; a server that is gone is noticed by them.
    const beat = (): unknown => this.#client.heartbeat({ workerId: this.#workerId }).catch(() => undefined);
    const heartbeats = setInterval(beat, HEARTBEAT_MS);
    try {
      while (!(await this.#runWhileRegistered())) {}
    } finally {
      clearInterval(heartbeats);
    }
  }

  /** Whether a run has ended; else the worker was declared dead, and must register again. */
  async #runWhileRegistered(): Promise<boolean> {
    const { workflow, around } = this.#params;
    const about = { workflowTypes: [workflow], leaseSecs: LEASE_SECS };
    this.#workerId = (await around("Register", () => this.#client.register(about))).workerId;
    for (;;) {
      const work = await around("PollTask", () => this.#client.pollTask({ workerId: this.#workerId })).catch(forgotten);
      if (work === undefined) return false;
      // Held up beyond its lease it is fenced off: it drops the run and polls again, as the server tells it to.
      if (work.runId !== "" && (await this.#perform(work.runId, work.taskToken).catch(fencedOff))) return true;
    }
  }

  /** Whether the run has ended. */
  async #perform(runId: string, taskToken: string): Promise<boolean> {
    const { around, effect, confirmed } = this.#params;
    for (const stepName of STEPS) {
      const retryPolicy = { initialIntervalMs: 1n };
      const begun = await around("BeginStep", () => this.#client.beginStep({ taskToken, stepName, retryPolicy }));
      if (!begun.shouldExecute) continue;
      effect(runId, stepName);
      const about = { taskToken, stepId: begun.stepId, attempt: begun.attempt };
      if (stepName === "charge" && begun.attempt === 1) {
        await around("FailStep", () => this.#client.failStep({ ...about, error: { message: "not yet" } }));
        return false;
      }
      const output = { data: new TextEncoder().encode(JSON.stringify(stepName)) };
      await around("CompleteStep", () => this.#client.completeStep({ ...about, output }));
      confirmed(runId, stepName);
    }
    const duration = { nanos: SLEEP_NANOS };
    const { elapsed } = await around("Sleep", () => this.#client.sleep({ taskToken, stepId: "rest", duration }));
    if (!elapsed) return false;
    const output = { data: new TextEncoder().encode('"done"') };
    await around("CompleteWorkflow", () => this.#client.completeWorkflow({ taskToken, output }));
    return true;
  }
}

function fencedOff(error: unknown): false {
  if (ConnectError.from(error).code !== Code.Aborted || error instanceof Cut) throw error;
  return false;
}

function forgotten(error: unknown): undefined {
  if (ConnectError.from(error).code !== Code.NotFound || error instanceof Cut) throw error;
}
