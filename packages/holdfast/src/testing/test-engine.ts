import { Client, type StartArguments } from "../client/client.ts";
import type { ClientCore } from "../client/client-core.ts";
import { type ResultOptions, RunHandle, type StartedRun } from "../client/run-handle.ts";
import { jsonCodec } from "../codec/json-codec.ts";
import { limitPayloads } from "../codec/limited-codec.ts";
import type { AnyWorkflow, OutputOf } from "../define/definitions.ts";
import type { PortsBundle } from "../engine/ports-bundle.ts";
import type { Worker } from "../engine/worker.ts";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { MemoryNotifier } from "../memory/memory-notifier.ts";
import { MemoryStore } from "../memory/memory-store.ts";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.ts";
import { type Logger, silentLogger } from "../ports/logger.ts";
import type { StepInterceptor } from "../ports/step-interceptor.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { SeededSource } from "./seeded-source.ts";
import { VirtualClock } from "./virtual-clock.ts";

const FOREVER_MS = 40 * 365 * 24 * 3600 * 1000;

export interface TestEngineOptions {
  readonly workflows: readonly AnyWorkflow[];
  /** Same seed, same ids and jitter. */
  readonly seed?: number;
  readonly logger?: Logger;
  readonly limits?: Partial<Limits>;
  readonly telemetry?: Telemetry;
  readonly redact?: (text: string) => string;
}

/** Answers in place of a step. */
export type StepMock = (call: { readonly attempt: number; readonly runId: string }) => unknown;

export interface TestEngine {
  readonly client: Client;
  readonly clock: VirtualClock;
  readonly store: MemoryStore;
  readonly worker: Worker;
  /** Starts a run and waits for its result, skipping over every sleep. */
  run<D extends AnyWorkflow>(workflow: D, ...rest: StartArguments<D>): Promise<OutputOf<D>>;
  /** From now on steps of that name (every occurrence) are answered by the function. */
  mock(step: string, fn: StepMock): void;
  close(): Promise<void>;
}

/** A whole engine on the memory store and a virtual clock: a year of sleep passes in milliseconds. */
export async function testEngine(options: TestEngineOptions): Promise<TestEngine> {
  const clock = new VirtualClock();
  const notifier = new MemoryNotifier(clock);
  const store = new MemoryStore({ clock, notifier });
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const log = options.logger ?? silentLogger;
  const mocks = new Map<string, StepMock>();
  const ports: PortsBundle = {
    clock,
    random: new SeededSource(options.seed ?? 1),
    codec: limitPayloads(jsonCodec, limits, log),
    log,
    limits,
    store,
    notifier,
    steps: mockingSteps(clock, mocks),
    ...(options.telemetry ? { telemetry: options.telemetry } : {}),
    ...(options.redact ? { redact: options.redact } : {}),
  };
  const client = new TestClient(ports, clock);
  // Nobody else is there: without leases and second looks nothing but the workflow's own timers moves time.
  const worker = client.worker({
    workflows: options.workflows,
    lease: { weeks: 4600 },
    tuning: { claimFallbackMs: FOREVER_MS },
  });
  await worker.start();
  return {
    client,
    clock,
    store,
    worker,
    run: (workflow, ...rest) => client.run(workflow, ...rest),
    mock: (step, fn) => void mocks.set(step, fn),
    close: () => clock.until(client.close()),
  };
}

class TestClient extends Client {
  readonly #clock: VirtualClock;

  constructor(ports: PortsBundle, clock: VirtualClock) {
    super(ports, "default", async () => {}, FOREVER_MS);
    this.#clock = clock;
  }

  protected override makeHandle(core: ClientCore, id: string, run: StartedRun | undefined): RunHandle {
    return new TestRunHandle(core, id, run, this.#clock);
  }
}

/** Whoever waits for a result moves the clock. */
class TestRunHandle extends RunHandle {
  readonly #clock: VirtualClock;

  constructor(core: ClientCore, id: string, run: StartedRun | undefined, clock: VirtualClock) {
    super(core, id, run);
    this.#clock = clock;
  }

  override async result(options: ResultOptions = {}): Promise<unknown> {
    try {
      return await this.#clock.until(super.result(options));
    } catch (error) {
      if (!isHoldfastError(error, "result_timeout") || options.timeout !== undefined) throw error;
      throw await this.#neverEnds(error);
    }
  }

  /** Says what keeps the run from ending: in a test that is nearly always what one wants to know. */
  async #neverEnds(cause: HoldfastError): Promise<HoldfastError> {
    const { status, waitingFor, error } = await this.describe();
    const why = error ? `: ${error.message}` : waitingFor.length > 0 ? `, for ${waitingFor.join(", ")}` : "";
    const message = `Nothing else can happen, and run "${this.id}" has not ended; it is ${status}${why}`;
    return new HoldfastError("result_timeout", message, { data: { id: this.id, status }, cause });
  }
}

function mockingSteps(clock: VirtualClock, mocks: ReadonlyMap<string, StepMock>): StepInterceptor {
  return {
    async around(call, run) {
      const release = clock.hold();
      try {
        const mock = mocks.get(call.op) ?? mocks.get(call.op.replace(/#\d+$/, ""));
        return await (mock ? mock({ attempt: call.attempt, runId: call.runId }) : run());
      } finally {
        release();
      }
    },
  };
}
