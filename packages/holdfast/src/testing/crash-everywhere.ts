import { isDeepStrictEqual } from "node:util";
import type { PortsBundle } from "../calls/ports-bundle.ts";
import { Client } from "../client/client.ts";
import { jsonCodec } from "../codec/json-codec.ts";
import { type AnyWorkflow, type InputOf, requireWorkflow } from "../define/definitions.ts";
import { toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import {
  checkOptions,
  isBoolean,
  isFunction,
  type OptionChecks,
  objectWith,
  oneOf,
  wholeNumber,
} from "../errors/option-checks.ts";
import { RecordedError } from "../errors/run-errors.ts";
import { MemoryNotifier } from "../memory/notifier.ts";
import { MemoryStore } from "../memory/store.ts";
import { CLOSED_STATUSES, type ClosedStatus } from "../model/run.ts";
import { silentLogger } from "../ports/logger.ts";
import { withForgotten } from "./forgotten.ts";
import { MortalLife } from "./mortal.ts";
import { SeededSource } from "./seeded-source.ts";
import { FOREVER_MS, VirtualClock } from "./virtual-clock.ts";

/** A model of the outside world, for `crashEverywhere`: what the workflow's steps change outside. */
export interface WorldModel {
  /** Restores the initial state. Called before each run; a promise is awaited. */
  reset(): unknown;
  /**
   * The state of the model, or a promise of it: plain data, including Map, Set, Date and BigInt. Called after each run,
   * and compared with the state after a run without a crash.
   */
  snapshot(): unknown | Promise<unknown>;
}

/** Options of `crashEverywhere`. */
export interface CrashEverywhereOptions {
  /**
   * A model of the outside world, which reveals steps that are not safe to repeat.
   * @defaultValue only the output is compared
   */
  readonly effects?: WorldModel;
  /**
   * Called when the run waits and nothing else happens: send the signals that it needs. If it throws or rejects,
   * `crashEverywhere` rejects with that error.
   * @defaultValue no signals are sent
   */
  readonly whenWaiting?: (client: Client, id: string) => Promise<void>;
  /**
   * Same seed, same ids and jitter.
   * @defaultValue `1`
   */
  readonly seed?: number;
  /**
   * Whether a workflow that returns while ops are pending fails, or completes with a warning, as it does in production.
   * @defaultValue `"fail"`
   */
  readonly onForgotten?: "fail" | "warn";
  /**
   * The run should fail, time out or be canceled, wherever the worker dies. Without this option, a run that ends that
   * way without a crash is an error; with it, a run that completes is one.
   * @defaultValue `false`
   */
  readonly expectFailure?: boolean;
}

/** What `crashEverywhere` did. */
export interface CrashReport {
  /** How many times the worker was killed, each time in a separate run. */
  readonly crashes: number;
  /** How many attempts of steps were executed a second time because their outcome was not recorded yet. */
  readonly repeatedSteps: number;
  /** How the run ended, every time; anything but `completed` only with `expectFailure`. */
  readonly status: ClosedStatus;
  /** What the run returned, every time. */
  readonly output: unknown;
  /** What `result()` of the run without a crash rejected with. */
  readonly error?: HoldfastError;
}

const CRASH_OPTIONS: OptionChecks<CrashEverywhereOptions> = {
  effects: objectWith("reset", "snapshot"),
  whenWaiting: isFunction,
  seed: wholeNumber(Number.MIN_SAFE_INTEGER),
  onForgotten: oneOf("fail", "warn"),
  expectFailure: isBoolean,
};

const RUN_ID = "crash-everywhere";

/**
 * Runs the workflow once without a crash, and then once for every point where its worker can die: before each commit,
 * and after each commit before the worker gets the answer. Each time a second worker takes over. Throws if the output
 * differs, if a recorded step is executed again, or if the outside world ends up different; also if the workflow fails
 * without a crash, unless `expectFailure` is set.
 */
export async function crashEverywhere<D extends AnyWorkflow>(
  workflow: D,
  input: InputOf<D>,
  options: CrashEverywhereOptions = {},
): Promise<CrashReport> {
  requireWorkflow(workflow, "crashEverywhere: the first argument");
  checkOptions(options, CRASH_OPTIONS, "crashEverywhere");
  const undisturbed = await runOnce(workflow, input, options, undefined);
  requireEnd(undisturbed, options.expectFailure === true);
  let repeatedSteps = 0;
  let crashes = 0;
  for (let commit = 1; commit <= undisturbed.commits; commit++) {
    for (const moment of ["before", "after"] as const) {
      const crashed = await runOnce(workflow, input, options, { commit, moment });
      if (!crashed.died) continue;
      crashes += 1;
      repeatedSteps += crashed.repeated.length;
      compare(undisturbed, crashed, { commit, moment });
    }
  }
  const { status, output, error } = undisturbed;
  return { crashes, repeatedSteps, status, output, ...(error ? { error } : {}) };
}

/** A run that ends differently than expected is no reference for the others: it may not even have reached its steps. */
function requireEnd({ status, output, error }: Observed, expectFailure: boolean): void {
  if (error !== undefined && !expectFailure) {
    const advice = needsDatabase(error)
      ? "crashEverywhere runs on the memory store, which has no SQL, and has no mocks: pass the function that does the transaction into the workflow, and in this test pass a plain step of the same name instead."
      : "Fix the workflow or its fakes, or set expectFailure: true if it should end this way.";
    const message = `The workflow fails without a crash: ${error.message.replace(/\.$/, "")}. ${advice}`;
    throw new HoldfastError(error.code, message, {
      kind: error.kind,
      data: { ...error.data, status },
      cause: error.cause,
    });
  }
  if (error === undefined && expectFailure) {
    const message = `crashEverywhere(): expectFailure is true, but without a crash the workflow completes, with ${shown(output)}.`;
    throw new HoldfastError("invalid_option", message, { data: { option: "expectFailure" } });
  }
}

function needsDatabase({ cause }: HoldfastError): boolean {
  return cause instanceof RecordedError && cause.recordedCode === "not_supported" && "kind" in cause.data;
}

interface CrashPoint {
  readonly commit: number;
  readonly moment: "before" | "after";
}

interface Observed {
  readonly output: unknown;
  readonly outcome: string;
  readonly error?: HoldfastError;
  readonly status: ClosedStatus;
  readonly world: unknown;
  readonly commits: number;
  readonly died: boolean;
  /** Ops whose function was executed although their result was in the store. */
  readonly rerun: readonly string[];
  /** Ops of which an attempt was executed again because it was not recorded. */
  readonly repeated: readonly string[];
}

async function runOnce(
  workflow: AnyWorkflow,
  input: unknown,
  options: CrashEverywhereOptions,
  point: CrashPoint | undefined,
): Promise<Observed> {
  const clock = new VirtualClock();
  const notifier = new MemoryNotifier(clock);
  const store = new MemoryStore({ clock, notifier });
  const steps = new StepLog(store, clock);
  const life = new MortalLife();
  let commits = 0;
  life.diesAt = ({ method, moment }) => {
    if (method !== "runs.commit" && method !== "transact") return false;
    if (moment === "before") commits += 1;
    return point !== undefined && commits === point.commit && moment === point.moment;
  };
  await options.effects?.reset();
  const { onForgotten = "fail" } = options;
  const random = new SeededSource(options.seed ?? 1);
  // Housekeeping (polls, heartbeats) is not tested here, and would make time pass in small steps.
  const base = { random, codec: jsonCodec, log: silentLogger, onForgotten, leaseMs: FOREVER_MS };
  const mortal = { clock: life.clock(clock), store: life.store(store), notifier: life.notifier(notifier) };
  const doomed = new Client({ ...base, ...mortal, steps: steps.of(life) }, "default", async () => {}, FOREVER_MS);
  const heir = new Client(
    { ...base, clock, store, notifier, steps: steps.of(undefined) },
    "default",
    async () => {},
    FOREVER_MS,
  );
  life.onDeath = () => {
    steps.cutOff();
    void expireLeases(store, clock).then(() => startWorker(heir, workflow));
  };
  const { whenWaiting } = options;
  const refused = whenWaiting ? [feedWhenWaiting(store, clock, async () => whenWaiting(heir, RUN_ID))] : [];
  await startWorker(doomed, workflow);
  await doomed.start(workflow.name, input, { id: RUN_ID, version: workflow.version, queue: workflow.queue });
  const observed = await clock.until(Promise.race([resultOf(heir, point !== undefined), ...refused]));
  if (isHoldfastError(observed.error, "run_failed")) {
    const explained = await withForgotten(observed.error, store, [workflow]);
    if (explained !== observed.error) throw explained;
  }
  await clock.until(heir.close());
  const died = life.dead;
  if (!died) await clock.until(doomed.close());
  const world = comparable(await options.effects?.snapshot());
  return { ...observed, world, commits, died, rerun: steps.rerun, repeated: steps.repeated };
}

/** The dead worker's lease expires at once: waiting for it shows nothing, and timeouts would pass meanwhile. */
async function expireLeases(store: MemoryStore, clock: VirtualClock): Promise<void> {
  for (const worker of store.state.workers.values()) worker.leaseExpiresAt = clock.now();
  const never = toErrorRecord(new HoldfastError("crash_loop", "crashEverywhere kills a worker once."));
  await store.workers.sweep({
    suspectAfter: 2,
    parkAfter: 2,
    parkError: never,
    timeoutGraceMs: FOREVER_MS,
    timeoutError: never,
    limit: 1_000,
  });
}

async function startWorker(client: Client, workflow: AnyWorkflow): Promise<void> {
  const tuning = { claimFallbackMs: FOREVER_MS };
  await client.worker({ workflows: [workflow], tuning }).start();
}

/** A run that does not end without a crash, because it is parked or waits, is no reference for the others. */
function resultOf(
  client: Client,
  crashed: boolean,
): Promise<Pick<Observed, "output" | "outcome" | "status" | "error">> {
  const told = (error: HoldfastError): string => {
    const undo = error.data["compensation"] === "compensation_failed" ? ", compensation_failed" : "";
    return `${error.code}${undo}: ${(error.cause as Error | undefined)?.message ?? error.message}`;
  };
  return client
    .get(RUN_ID)
    .result()
    .then(
      (output) => ({ output, outcome: "completed", status: "completed" }),
      (error: HoldfastError) => {
        const status = CLOSED_STATUSES.find((closed) => error.code === `run_${closed}`);
        if (!crashed && status === undefined) throw error;
        return { output: undefined, outcome: told(error), status: status ?? "failed", error };
      },
    );
}

/** Calls back each time the run begins to wait for a signal. The promise rejects when the callback does. */
function feedWhenWaiting(store: MemoryStore, clock: VirtualClock, feed: () => Promise<void>): Promise<never> {
  return new Promise((_resolve, reject) => {
    store.fault = (moment, method) => {
      if (moment === "before" || method !== "runs.commit") return undefined;
      const waiting = [...store.state.runs.values()].some((run) => run.status === "waiting");
      if (waiting) clock.immediate(() => void feed().catch(reject));
      return undefined;
    };
  });
}

/** Which step functions were executed, and whether they should have been. */
class StepLog {
  readonly rerun: string[] = [];
  readonly repeated: string[] = [];
  readonly #store: MemoryStore;
  readonly #clock: VirtualClock;
  /** What was recorded about an attempt when its function was called. */
  readonly #called = new Map<string, number>();
  /** A transaction cut off by the death of its worker never ends: time must not wait for it. */
  readonly #mortal: (() => void)[] = [];

  constructor(store: MemoryStore, clock: VirtualClock) {
    this.#store = store;
    this.#clock = clock;
  }

  cutOff(): void {
    for (const release of this.#mortal) release();
  }

  of(life: MortalLife | undefined): NonNullable<PortsBundle["steps"]> {
    return {
      around: async ({ runId, op, attempt }, run) => {
        if (life?.dead) return new Promise<never>(() => {});
        const events = this.#store.state.events.get(runId) ?? [];
        const inbox = this.#store.state.inbox.get(runId) ?? [];
        const recorded =
          events.some((event) => event.op === op && event.type === "step_completed") ||
          inbox.some((message) => message.kind === "outcome" && message.name === op);
        if (recorded) this.rerun.push(op);
        // A retry of the run clears what failed, and counts its attempts from one again.
        const records = events.filter(
          ({ op: of, type }) => type === "run_retried" || (of === op && type !== "step_started"),
        );
        const key = `${runId} ${op} ${attempt}`;
        if (this.#called.get(key) === records.length) this.repeated.push(op);
        this.#called.set(key, records.length);
        const release = this.#clock.hold();
        if (life) this.#mortal.push(release);
        try {
          const value = await run();
          return life?.dead ? new Promise<never>(() => {}) : value;
        } finally {
          release();
        }
      },
    };
  }
}

/** A result that differs while the outside world does not. */
const ASK_CTX =
  " Perhaps the workflow code itself does not give the same values when it is replayed (Date.now, Math.random, " +
  "crypto.randomUUID, a variable outside of the function): use ctx.now, ctx.random, ctx.uuid, ctx.sideEffect or a step.";

function compare(expected: Observed, actual: Observed, point: CrashPoint): void {
  const where =
    point.moment === "before"
      ? `right before commit ${point.commit}`
      : `after commit ${point.commit}, before the worker gets the answer`;
  const repeated =
    actual.repeated.length > 0
      ? ` Steps executed a second time: ${[...new Set(actual.repeated)].join(", ")}. Make them idempotent: pass s.idempotencyKey on, or use a transaction.`
      : "";
  const sameWorld = isDeepStrictEqual(expected.world, actual.world);
  const fault = (what: string, data: object, advice = ""): HoldfastError =>
    new HoldfastError("crash_unsafe", `When the worker dies ${where}, ${what}.${repeated}${advice}`, {
      data: { ...point, ...data },
    });
  if (actual.rerun.length > 0)
    throw fault(`recorded steps are executed again: ${actual.rerun.join(", ")}`, { rerun: actual.rerun });
  const differ = (what: string, wanted: unknown, found: unknown, advice?: string): void => {
    if (isDeepStrictEqual(wanted, found)) return;
    const [a, b] = [shown(wanted), shown(found)];
    throw fault(`${what} ${b} instead of ${a}`, { expected: a, actual: b }, advice);
  };
  differ("the result is", endOf(expected), endOf(actual), sameWorld ? ASK_CTX : "");
  differ("the outside world ends up as", expected.world, actual.world);
}

function endOf({ outcome, output }: Observed): unknown[] {
  return output === undefined ? [outcome] : [outcome, output];
}

/**
 * A copy of the snapshot, which may be the world itself and change with it. What the codec cannot store cannot be
 * compared.
 */
function comparable(snapshot: unknown): unknown {
  try {
    return jsonCodec.decode(jsonCodec.encode(snapshot, "snapshot"));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `The result of effects.snapshot() cannot be compared (${why}). Return plain data: a list of what happened, a count, or an object of these.`;
    throw new HoldfastError("unserializable_value", message, { data: { where: "effects.snapshot()" }, cause });
  }
}

/** As the codec writes it: JSON, with tags for what JSON cannot express. */
function shown(value: unknown): string {
  return value === undefined ? "undefined" : Buffer.from(jsonCodec.encode(value, "value")).toString();
}
