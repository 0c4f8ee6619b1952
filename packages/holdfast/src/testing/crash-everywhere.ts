import { isDeepStrictEqual } from "node:util";
import { payDebts } from "../calls/debt-payment.ts";
import { type JudgeHost, judgeExpiry } from "../calls/task-judgment.ts";
import { Client } from "../client/client.ts";
import { jsonCodec } from "../codec/json-codec.ts";
import { type AnyWorkflow, type InputOf, requireWorkflow } from "../define/definitions.ts";
import type { Worker } from "../engine/worker/worker.ts";
import type { WorkerOptions } from "../engine/worker/worker-options.ts";
import { toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import {
  checkedLater,
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
import type { Debt } from "../model/debt.ts";
import { CLOSED_STATUSES, type ClosedStatus } from "../model/run.ts";
import { silentLogger } from "../ports/logger.ts";
import type { StoreMethod } from "../ports/store-calls.ts";
import type { AnyTask } from "../replay/ops/task-options.ts";
import { type Doomed, isDeadly } from "./deadly-calls.ts";
import { withForgotten } from "./forgotten.ts";
import { MortalLife } from "./mortal.ts";
import { SeededSource } from "./seeded-source.ts";
import { StepLog } from "./step-log.ts";
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
   * The tasks that the workflow uses. Their workers die as well: together with the worker of the workflow, and alone.
   * @defaultValue none
   */
  readonly tasks?: readonly AnyTask[];
  /**
   * The workflows of its children, and of the runs that it sends messages to. The worker that dies executes them, too.
   * @defaultValue none
   */
  readonly workflows?: readonly AnyWorkflow[];
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
  /** How many attempts of steps and tasks were executed a second time because their outcome was not recorded yet. */
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
  tasks: checkedLater,
  workflows: checkedLater,
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
  const whos: readonly Doomed[] = (options.tasks ?? []).length > 0 ? ["worker", "task worker"] : ["worker"];
  for (const who of whos) {
    // How often the worker that does everything calls the store, the run without a crash has shown.
    const callsMax = who === "worker" ? undisturbed.calls : Number.POSITIVE_INFINITY;
    for (let call = 1, more = true; more && call <= callsMax; call++) {
      // Of calls that are in flight together, one may have no moment of its own.
      more = who === "worker";
      for (const moment of ["before", "after"] as const) {
        const point = { who, call, moment };
        const crashed = await runOnce(workflow, input, options, point);
        if (!crashed.died) continue;
        more = true;
        crashes += 1;
        repeatedSteps += crashed.repeated.length;
        compare(undisturbed, crashed, point);
      }
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
  readonly who: Doomed;
  /** Which of these calls, from 1. */
  readonly call: number;
  readonly moment: "before" | "after";
}

interface Observed {
  readonly output: unknown;
  readonly outcome: string;
  readonly error?: HoldfastError;
  readonly status: ClosedStatus;
  readonly world: unknown;
  /** How often the worker that may die has called the store, in a way in which it may. */
  readonly calls: number;
  readonly died: boolean;
  readonly diedAt: StoreMethod | undefined;
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
  const who = point?.who ?? "worker";
  let calls = 0;
  let diedAt: StoreMethod | undefined;
  life.diesAt = (at) => {
    const { method, moment } = at;
    if (!isDeadly(who, at)) return false;
    if (moment === "before") calls += 1;
    if (point === undefined || calls !== point.call || moment !== point.moment) return false;
    diedAt = method;
    return true;
  };
  await options.effects?.reset();
  const { onForgotten = "fail", tasks = [] } = options;
  const workflows = [workflow, ...(options.workflows ?? []).filter((other) => other !== workflow)];
  const random = new SeededSource(options.seed ?? 1);
  // Housekeeping (polls, heartbeats) is not tested here, and would make time pass in small steps.
  const base = { random, codec: jsonCodec, log: silentLogger, onForgotten, leaseMs: FOREVER_MS };
  const mortal = { clock: life.clock(clock), store: life.store(store), notifier: life.notifier(notifier) };
  const doomed = new Client({ ...base, ...mortal, ...steps.of(life) }, "default", async () => {}, FOREVER_MS);
  const immortal = { clock, store, notifier, ...steps.of(undefined) };
  const heir = new Client({ ...base, ...immortal }, "default", async () => {}, FOREVER_MS);
  const offers = who === "worker" ? { workflows, tasks } : { tasks };
  const judge: JudgeHost = { record: toErrorRecord, now: () => clock.now(), random: () => random.next() };
  const dying = workerOf(doomed, offers);
  const dead = new Promise<void>((resolve) => {
    life.onDeath = () => {
      steps.cutOff();
      resolve();
      void expireLease(store, clock, dying, judge).then(() => workerOf(heir, offers).start());
    };
  });
  const { whenWaiting } = options;
  const refused = whenWaiting ? [feedWhenWaiting(store, clock, async () => whenWaiting(heir, RUN_ID))] : [];
  if (who === "task worker") await workerOf(heir, { workflows }).start();
  // It may die before it has started.
  await Promise.race([dying.start(), dead]);
  await (who === "worker" ? doomed : heir).start(workflow.name, input, {
    id: RUN_ID,
    version: workflow.version,
    queue: workflow.queue,
  });
  const observed = await clock.until(Promise.race([resultOf(heir, point !== undefined), ...refused]));
  if (isHoldfastError(observed.error, "run_failed")) {
    const explained = await withForgotten(observed.error, store, [workflow]);
    if (explained !== observed.error) throw explained;
  }
  await clock.until(heir.close());
  const died = life.dead;
  if (!died) await clock.until(doomed.close());
  const world = comparable(await options.effects?.snapshot());
  return { ...observed, world, calls, died, diedAt, rerun: steps.rerun, repeated: steps.repeated };
}

/** The dead worker's lease expires at once: waiting for it shows nothing, and timeouts would pass meanwhile. */
async function expireLease(store: MemoryStore, clock: VirtualClock, dying: Worker, judge: JudgeHost): Promise<void> {
  const dead = store.state.workers.get(dying.workerId);
  if (dead) dead.leaseExpiresAt = clock.now();
  const never = toErrorRecord(new HoldfastError("crash_loop", "crashEverywhere kills a worker once."));
  await store.workers.sweep({
    suspectAfter: 2,
    parkAfter: 2,
    parkError: never,
    timeoutGraceMs: FOREVER_MS,
    timeoutError: never,
    limit: 1_000,
  });
  const { tasks } = await store.tasks.expired({ limit: 1_000 });
  const by = { type: "expiry" } as const;
  await store.tasks.finish({ finishes: tasks.map((task) => ({ ...task, by, result: judgeExpiry(task, judge) })) });
  for (let debts = await readDebts(store); debts.length > 0; debts = await readDebts(store))
    await payDebts(store, debts, Number.POSITIVE_INFINITY);
}

function readDebts(store: MemoryStore): Promise<readonly Debt[]> {
  return store.debts.read({ limit: 1_000 });
}

function workerOf(client: Client, offers: Pick<WorkerOptions, "workflows" | "tasks">): Worker {
  const labels = [...new Set((offers.tasks ?? []).flatMap(({ spec }) => spec.requires ?? []))];
  return client.worker({ ...offers, labels, tuning: { claimFallbackMs: FOREVER_MS } });
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

/** A result that differs while the outside world does not. */
const ASK_CTX =
  " Perhaps the workflow code itself does not give the same values when it is replayed (Date.now, Math.random, " +
  "crypto.randomUUID, a variable outside of the function): use ctx.now, ctx.random, ctx.uuid, ctx.sideEffect or a step.";

function compare(expected: Observed, actual: Observed, point: CrashPoint): void {
  const { who, call, moment } = point;
  const what = actual.diedAt === "runs.commit" || actual.diedAt === "transact" ? "commit" : `${actual.diedAt}, call`;
  const where =
    moment === "before" ? `right before ${what} ${call}` : `after ${what} ${call}, before the worker gets the answer`;
  const repeated =
    actual.repeated.length > 0
      ? ` Steps executed a second time: ${[...new Set(actual.repeated)].join(", ")}. Make them idempotent: pass the idempotencyKey on, or use a transaction.`
      : "";
  const sameWorld = isDeepStrictEqual(expected.world, actual.world);
  const fault = (found: string, data: object, advice = ""): HoldfastError =>
    new HoldfastError("crash_unsafe", `When the ${who} dies ${where}, ${found}.${repeated}${advice}`, {
      data: { who, commit: call, moment, ...data },
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
