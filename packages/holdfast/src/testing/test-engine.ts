import type { PortsBundle } from "../calls/ports-bundle.ts";
import { Client } from "../client/client.ts";
import type { ClientCore } from "../client/client-core.ts";
import { LIMIT_OPTIONS } from "../client/connect.ts";
import type { ResultOptions } from "../client/result-options.ts";
import { RunHandle, type StartedRun } from "../client/run-handle.ts";
import type { StartArguments } from "../client/start-request.ts";
import { jsonCodec } from "../codec/json-codec.ts";
import { limitPayloads } from "../codec/limited-codec.ts";
import type { AnyWorkflow, OutputOf } from "../define/definitions.ts";
import { requireTask } from "../define/task.ts";
import type { Worker } from "../engine/worker/worker.ts";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import {
  checkedLater,
  invalidOption,
  isDate,
  isFunction,
  type OptionChecks,
  oneOf,
  optionsOf,
  requireOptions,
  wholeNumber,
  withDefaults,
} from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import { MemoryNotifier } from "../memory/notifier.ts";
import { MemoryStore } from "../memory/store.ts";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.ts";
import { idFault } from "../model/names.ts";
import { type Logger, silentLogger } from "../ports/logger.ts";
import type { StepInterceptor } from "../ports/step-interceptor.ts";
import type { TaskInterceptor } from "../ports/task-interceptor.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Offering } from "../replay/context/offers.ts";
import type { AnyTask, TaskDefinition, TaskInfo } from "../replay/ops/task-options.ts";
import { guardLogger } from "../report/guarded-logger.ts";
import { guardTelemetry } from "../report/guarded-telemetry.ts";
import { isLogger, isTelemetry } from "../report/observer-options.ts";
import { withForgotten } from "./forgotten.ts";
import { SeededSource } from "./seeded-source.ts";
import { FOREVER_MS, VirtualClock } from "./virtual-clock.ts";

/** Options of `testEngine`. */
export interface TestEngineOptions {
  /** The workflows that the engine's worker offers. */
  readonly workflows: readonly AnyWorkflow[];
  /**
   * The tasks that the engine's worker executes. It has every label that a task may require.
   * @defaultValue none
   */
  readonly tasks?: readonly AnyTask[];
  /**
   * Same seed, same ids and jitter.
   * @defaultValue `1`
   */
  readonly seed?: number;
  /**
   * The time at which the clock begins.
   * @defaultValue a Sunday morning: 2026-01-04T08:00:00Z
   */
  readonly now?: Date;
  /**
   * Where log lines go.
   * @defaultValue `silentLogger`
   */
  readonly logger?: Logger;
  /**
   * As for `connect`.
   * @defaultValue `DEFAULT_LIMITS`
   */
  readonly limits?: Partial<Limits>;
  /**
   * As for `connect`.
   * @defaultValue none
   */
  readonly telemetry?: Telemetry | readonly Telemetry[];
  /**
   * As for `connect`.
   * @defaultValue nothing more is masked
   */
  readonly redact?: (text: string) => string;
  /**
   * Whether a workflow that returns while ops are pending fails, or completes with a warning, as it does in production.
   * @defaultValue `"fail"`
   */
  readonly onForgotten?: "fail" | "warn";
}

/** Answers in place of a step. */
export type StepMock = (call: { readonly attempt: number; readonly runId: string }) => unknown;

/** Answers in place of a task's function, with the same arguments. */
export type TaskMock<I = unknown> = (input: I, task: TaskInfo) => unknown;

/** An engine for one test, made by `testEngine`. */
export interface TestEngine {
  /** A full client. Waiting for a result advances the clock. */
  readonly client: Client;
  /** The virtual clock. */
  readonly clock: VirtualClock;
  /** The memory store, for inspecting what was written. */
  readonly store: MemoryStore;
  /** The worker, already started. */
  readonly worker: Worker;
  /** Starts a run and waits for its result, skipping every sleep. */
  run<D extends AnyWorkflow, S extends string = string>(
    workflow: D,
    ...inputAndOptions: StartArguments<D, S>
  ): Promise<OutputOf<D>>;
  /** From now on the function answers for steps of that name (every occurrence). */
  mock(step: string, fn: StepMock): void;
  /** From now on the function answers for the task. */
  mock<I, O>(task: TaskDefinition<I, O>, fn: TaskMock<I>): void;
  /** Stops the worker. */
  close(): Promise<void>;
}

const isSeed = wholeNumber(Number.MIN_SAFE_INTEGER);

const TEST_ENGINE_OPTIONS: OptionChecks<TestEngineOptions> = {
  workflows: checkedLater,
  tasks: checkedLater,
  seed: isSeed,
  now: isDate,
  logger: isLogger,
  limits: optionsOf(LIMIT_OPTIONS),
  telemetry: isTelemetry,
  redact: isFunction,
  onForgotten: oneOf("fail", "warn"),
};

/** A whole engine on the memory store and a virtual clock: a year of sleep passes in milliseconds. */
export async function testEngine(options: TestEngineOptions): Promise<TestEngine> {
  requireOptions(options, TEST_ENGINE_OPTIONS, "testEngine");
  if (options.workflows === undefined) throw invalidOption("testEngine", "workflows", "is missing: list what to run");
  const clock = new VirtualClock(options.now?.getTime());
  const notifier = new MemoryNotifier(clock);
  const store = new MemoryStore({ clock, notifier });
  const limits = withDefaults(DEFAULT_LIMITS, options.limits);
  const log = options.logger === undefined ? silentLogger : guardLogger(options.logger);
  const telemetry = guardTelemetry(options.telemetry, log);
  const mocks = new Map<string, StepMock>();
  const taskMocks = new Map<string, TaskMock>();
  const tasks = options.tasks ?? [];
  const ports: PortsBundle = {
    clock,
    random: new SeededSource(options.seed ?? 1),
    codec: limitPayloads(jsonCodec, limits, log),
    log,
    limits,
    store,
    notifier,
    onForgotten: options.onForgotten ?? "fail",
    leaseMs: FOREVER_MS,
    steps: mockingSteps(clock, mocks),
    tasks: mockingTasks(clock, taskMocks),
    ...(telemetry ? { telemetry } : {}),
    ...(options.redact ? { redact: options.redact } : {}),
  };
  const explain = (error: unknown): Promise<unknown> => withForgotten(error, store, options.workflows);
  const client = new TestClient(ports, clock, explain);
  // This is the only worker: without leases and polls, only the workflow's own timers advance time.
  const worker = client.worker({
    workflows: options.workflows,
    tasks,
    labels: [...new Set(tasks.flatMap(({ spec }) => spec.requires ?? []))],
    tuning: { claimFallbackMs: FOREVER_MS },
    // Histories name it: the same program must write the same history.
    name: "test-worker",
  });
  await worker.start();
  return {
    client,
    clock,
    store,
    worker,
    run: (workflow, ...rest) => client.run(workflow, ...rest),
    mock: (step: string | AnyTask, fn: StepMock | TaskMock<never>): void => {
      isFunction(
        fn,
        `mock(${typeof step === "string" ? shownValue(step) : (step?.name ?? shownValue(step))})`,
        "the second argument",
      );
      if (typeof step !== "string") {
        requireMockable(step, tasks);
        taskMocks.set(step.name, fn as TaskMock);
        return;
      }
      const fault = idFault(step);
      if (fault) throw new HoldfastError("invalid_name", `mock(${shownValue(step)}): the name of the step ${fault}.`);
      mocks.set(step, fn as StepMock);
    },
    close: () => clock.until(client.close()),
  };
}

function requireMockable(task: AnyTask, tasks: readonly AnyTask[]): void {
  requireTask(task, "mock: the first argument");
  if (tasks.some(({ name }) => name === task.name)) return;
  const advice = task.external
    ? "is external: complete it with client.tasks, as in production"
    : "is not among the tasks of this engine: list it in testEngine({ tasks })";
  throw new HoldfastError("invalid_option", `mock: task "${task.name}" ${advice}.`);
}

/** Adds to the error why a run failed. */
type Explain = (error: unknown) => Promise<unknown>;

class TestClient extends Client {
  readonly #clock: VirtualClock;
  readonly #explain: Explain;

  constructor(ports: PortsBundle, clock: VirtualClock, explain: Explain) {
    super(ports, "default", async () => {}, FOREVER_MS);
    this.#clock = clock;
    this.#explain = explain;
  }

  protected override during<R>(waiting: Promise<R>): Promise<R> {
    return this.#clock.until(waiting);
  }

  protected override makeHandle(
    core: ClientCore,
    id: string,
    run: StartedRun | undefined,
    workflow?: Offering,
  ): RunHandle {
    return new TestRunHandle(core, id, run, workflow, { clock: this.#clock, explain: this.#explain });
  }
}

/** Waiting for a result advances the clock. */
class TestRunHandle extends RunHandle {
  readonly #clock: VirtualClock;
  readonly #explain: Explain;

  constructor(
    core: ClientCore,
    id: string,
    run: StartedRun | undefined,
    workflow: Offering | undefined,
    { clock, explain }: { readonly clock: VirtualClock; readonly explain: Explain },
  ) {
    super(core, id, run, workflow);
    this.#clock = clock;
    this.#explain = explain;
  }

  override async result<S extends string = string>(options: ResultOptions<S> = {}): Promise<unknown> {
    try {
      return await this.#clock.until(super.result(options));
    } catch (error) {
      if (!isHoldfastError(error, "result_timeout") || options.timeout !== undefined) throw await this.#explain(error);
      throw await this.#neverEnds(error);
    }
  }

  protected override during<R>(waiting: Promise<R>): Promise<R> {
    return this.#clock.until(waiting);
  }

  protected override another(core: ClientCore, id: string, run: StartedRun, expected?: Offering): RunHandle {
    return new TestRunHandle(core, id, run, expected, { clock: this.#clock, explain: this.#explain });
  }

  /** Says what keeps the run from ending: in a test, that is nearly always the question. */
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

function mockingTasks(clock: VirtualClock, mocks: ReadonlyMap<string, TaskMock>): TaskInterceptor {
  return {
    async around({ name }, input, info, run) {
      const release = clock.hold();
      try {
        const mock = mocks.get(name);
        return await (mock ? mock(input, info as TaskInfo) : run());
      } finally {
        release();
      }
    },
  };
}
