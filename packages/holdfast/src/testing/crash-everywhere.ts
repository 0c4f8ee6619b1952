import { isDeepStrictEqual } from "node:util";
import { Client } from "../client/client.ts";
import { jsonCodec } from "../codec/json-codec.ts";
import type { AnyWorkflow, InputOf } from "../define/definitions.ts";
import type { PortsBundle } from "../engine/ports-bundle.ts";
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
import { VirtualClock } from "./virtual-clock.ts";

/** A model of the outside world, for `crashEverywhere`: what the workflow's steps change outside. */
export interface WorldModel {
  /** Back to the beginning. Called before each run; a promise is awaited. */
  reset(): unknown;
  /**
   * What there is to see of it, or a promise of that: plain data, Map, Set, Date and BigInt included. Called after each run, and
   * compared with the world after a run without crash.
   */
  snapshot(): unknown | Promise<unknown>;
}

/** Options of `crashEverywhere`. */
export interface CrashEverywhereOptions {
  /**
   * A model of the outside world: with it, steps that are not safe to repeat are found.
   * @defaultValue only the output is compared
   */
  readonly effects?: WorldModel;
  /**
   * Called when the run waits and nothing else happens: send it the signals that it needs.
   * @defaultValue nobody sends anything
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
   * The run is meant to fail, to time out or to be canceled: that is what must come out wherever the worker dies. Otherwise a run
   * that does so without any crash is an error, and so is one that completes although this is set.
   * @defaultValue `false`
   */
  readonly expectFailure?: boolean;
}

/** What `crashEverywhere` has done. */
export interface CrashReport {
  /** How many times the worker was killed, each time in a run of its own. */
  readonly crashes: number;
  /** How many attempts of steps were executed a second time because what came of them was not recorded yet. */
  readonly repeatedSteps: number;
  /** How the run ended, every time; anything but `completed` only with `expectFailure`. */
  readonly status: ClosedStatus;
  /** What the run returned, every time. */
  readonly output: unknown;
  /** What `result()` of the run without crash rejected with. */
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
/** Housekeeping (second looks, heartbeats) is not what is tested here, and would make time pass in small steps. */
const FOREVER_MS = 40 * 365 * 24 * 3600 * 1000;

/**
 * Runs the workflow once without disturbance, and then once for every place where its worker can die: before each commit,
 * and after each commit before the worker hears of it. Every time a second worker takes over. Throws when the output differs,
 * when a step that was recorded runs again, or when the outside world ends up different; and when the workflow fails without any
 * crash, unless `expectFailure` says that it should.
 */
export async function crashEverywhere<D extends AnyWorkflow>(
  workflow: D,
  input: InputOf<D>,
  options: CrashEverywhereOptions = {},
): Promise<CrashReport> {
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

/** A run that ends otherwise than it should is no model for the others: its steps may not even have been reached. */
function requireEnd({ status, output, error }: Observed, expectFailure: boolean): void {
  if (error !== undefined && !expectFailure) {
    const advice = needsDatabase(error)
      ? "crashEverywhere runs on the memory store, which has no SQL, and knows no mocks: hand the workflow what does the transaction, and in this test a plain step of the same name in its place."
      : "Mend the workflow or its fakes, or say expectFailure: true if this is how it should end.";
    const message = `The workflow fails without any crash: ${error.message.replace(/\.$/, "")}. ${advice}`;
    throw new HoldfastError(error.code, message, {
      kind: error.kind,
      data: { ...error.data, status },
      cause: error.cause,
    });
  }
  if (error === undefined && expectFailure) {
    const message = `crashEverywhere(): expectFailure is true, but without any crash the workflow completes, with ${shown(output)}.`;
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
  /** Ops whose function ran although their result was in the store. */
  readonly rerun: readonly string[];
  /** Ops of which an attempt ran again because nothing was recorded of it. */
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
  const base = { random: new SeededSource(options.seed ?? 1), codec: jsonCodec, log: silentLogger, onForgotten };
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
  if (options.whenWaiting) feedWhenWaiting(store, clock, () => options.whenWaiting?.(heir, RUN_ID));
  await startWorker(doomed, workflow);
  await doomed.start(workflow.name, input, { id: RUN_ID, version: workflow.version, queue: workflow.queue });
  const observed = await clock.until(resultOf(heir, point !== undefined));
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

/** The lease of the dead worker passes at once: nothing is learned from waiting for it, and timeouts would pass with it. */
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
  await client.worker({ workflows: [workflow], lease: { milliseconds: 2 * FOREVER_MS }, tuning }).start();
}

/** A run that does not end without any crash, parked or waiting, is no model for the others. */
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

/** Calls back each time the run has come to wait for a signal. */
function feedWhenWaiting(store: MemoryStore, clock: VirtualClock, feed: () => Promise<void> | undefined): void {
  store.fault = (moment, method) => {
    if (moment === "before" || method !== "runs.commit") return undefined;
    const waiting = [...store.state.runs.values()].some((run) => run.status === "waiting");
    if (waiting) clock.immediate(() => void feed());
    return undefined;
  };
}

/** Which step functions ran, and whether they should have. */
class StepLog {
  readonly rerun: string[] = [];
  readonly repeated: string[] = [];
  readonly #store: MemoryStore;
  readonly #clock: VirtualClock;
  /** What was recorded of an attempt when its function was called. */
  readonly #called = new Map<string, number>();
  /** A transaction that is cut off by the death of its worker never comes to an end: time must not wait for it. */
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
        // A retry of the run forgets what has failed, and counts its attempts from one again.
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

function compare(expected: Observed, actual: Observed, point: CrashPoint): void {
  const where =
    point.moment === "before"
      ? `right before commit ${point.commit}`
      : `after commit ${point.commit}, before the worker heard of it`;
  const repeated =
    actual.repeated.length > 0
      ? ` Steps that ran a second time: ${[...new Set(actual.repeated)].join(", ")}. Make them idempotent: pass s.idempotencyKey on, or use a transaction.`
      : "";
  const fault = (what: string, data: object): HoldfastError =>
    new HoldfastError("crash_unsafe", `When the worker dies ${where}, ${what}.${repeated}`, {
      data: { ...point, ...data },
    });
  if (actual.rerun.length > 0)
    throw fault(`recorded steps run again: ${actual.rerun.join(", ")}`, { rerun: actual.rerun });
  const differ = (what: string, wanted: unknown, found: unknown): void => {
    if (isDeepStrictEqual(wanted, found)) return;
    const [a, b] = [shown(wanted), shown(found)];
    throw fault(`${what} ${b} instead of ${a}`, { expected: a, actual: b });
  };
  differ("the result is", endOf(expected), endOf(actual));
  differ("the outside world ends up as", expected.world, actual.world);
}

function endOf({ outcome, output }: Observed): unknown[] {
  return output === undefined ? [outcome] : [outcome, output];
}

/** A copy of the snapshot, which may be the world itself and change with it. What the codec cannot keep has nothing to compare. */
function comparable(snapshot: unknown): unknown {
  try {
    return jsonCodec.decode(jsonCodec.encode(snapshot, "snapshot"));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `What effects.snapshot() returns cannot be compared (${why}). Return plain data: a list of what has happened, a count, an object of such.`;
    throw new HoldfastError("unserializable_value", message, { data: { where: "effects.snapshot()" }, cause });
  }
}

/** As the codec writes it: JSON, with marks for what JSON has no word for. */
function shown(value: unknown): string {
  return value === undefined ? "undefined" : Buffer.from(jsonCodec.encode(value, "value")).toString();
}
