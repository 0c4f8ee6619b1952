import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { type ErrorRecordOptions, toErrorRecord } from "../../errors/error-record.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import type { HistoryEvent } from "../../model/event.ts";
import { DEFAULT_LIMITS } from "../../model/limits.ts";
import type { Run } from "../../model/run.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Codec } from "../../ports/codec.ts";
import { type Logger, silentLogger } from "../../ports/logger.ts";
import type { Random } from "../../ports/random.ts";
import type { StepInterceptor } from "../../ports/step-interceptor.ts";
import type { RunCommit, Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Driver, Machine, MachineParams } from "../../replay/machine.ts";
import { TurnLoop } from "../../replay/turn-loop.ts";
import type { RepeatedLines } from "../../report/repeated-lines.ts";
import type { NearChildren } from "../children/near-ends.ts";
import type { RunCaller } from "../children/run-caller.ts";
import type { InboxReader } from "../claim/inbox-reader.ts";
import type { Committer } from "../commit/committer.ts";
import type { Lease } from "../lease/lease.ts";
import { StepWatch } from "../steps/step-watch.ts";
import type { LocalTasks } from "../tasks/local-tasks.ts";
import type { Pace } from "../worker/pace.ts";
import type { ResolvedWorkerOptions } from "../worker/worker-options.ts";
import type { HeldRun, Leaving } from "./held-run.ts";
import { Stretches } from "./stretches.ts";

/** What a run executor gets from its worker. */
export interface ExecutorHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly codec: Codec;
  readonly log: Logger;
  readonly lines: RepeatedLines;
  readonly storeTime: StoreTime;
  readonly loop: TurnLoop;
  readonly committer: Committer;
  readonly lease: Lease;
  readonly inbox: InboxReader;
  readonly store: Store;
  /** All of the ports, for what reads a history. */
  readonly ports: PortsBundle;
  readonly steps: StepInterceptor | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly stretches: Stretches | undefined;
  /** An error as history stores it. */
  readonly record: (error: unknown, about?: ErrorRecordOptions) => ErrorRecord;
  readonly watch: StepWatch;
  readonly pace: Pace;
  /** The name of the worker. */
  readonly name: string;
  readonly opsMax: number;
  /** If true, a function that returns while ops are pending fails; otherwise that logs a warning. */
  readonly failForgotten: boolean;
  /** How long to wait for an aborted step that may have to be compensated, if the step has no timeout. */
  readonly windUpMs: number;
  /** After this many events in one hold a run is released, so that others get their turn. */
  readonly eventsPerHoldMax: number;
  /** How long a run stays here while tasks of its own run in this process, or children on this worker. */
  readonly holdMs: number;
  /** The workers of this process that execute tasks. */
  readonly localTasks: LocalTasks | undefined;
  /** Calls because of other runs. */
  readonly others: RunCaller;
  readonly near: NearChildren;
  /** A limit of a task passes at this store time, and no worker watches over it. */
  noteTaskLimit(storeAt: number): void;
  draining(): boolean;
  /** A commit that decides about updates is durable. */
  replied(commit: RunCommit, machine: Machine): void;
  /** Events of the run became durable. */
  progressed(executor: HeldRun): void;
  /** A commit was answered, and the run stays here. */
  kept(executor: HeldRun): void;
  /** An attempt of a step of this run has failed, and is made again. */
  retried(run: Run): void;
  /** The executor no longer holds its run. */
  left(executor: HeldRun, leaving: Leaving): void;
}

/**
 * What the machine of a run on this worker is made of. A machine without a driver only locates where the code asks for ops.
 * Of a class, because it leads to the whole run (passing-map.ts).
 */
export class RunParams implements MachineParams {
  readonly run: Run;
  readonly codec: Codec;
  readonly log: Logger;
  readonly record: (error: unknown) => ErrorRecord;
  readonly history: readonly HistoryEvent[];
  readonly begun: boolean;
  readonly opsMax: number;
  readonly failForgotten: boolean;
  readonly locate: boolean;
  readonly driver: Driver | undefined;
  readonly worker: string;
  readonly now: () => number;

  constructor(
    host: ExecutorHost,
    run: Run,
    history: readonly HistoryEvent[],
    begun: boolean,
    driver: Driver | undefined,
  ) {
    this.run = run;
    this.codec = host.codec;
    this.log = driver ? host.log : silentLogger;
    this.record = host.record;
    this.history = history;
    this.begun = begun;
    this.opsMax = host.opsMax;
    this.failForgotten = host.failForgotten;
    this.locate = driver === undefined;
    this.driver = driver;
    this.worker = host.name;
    this.now = () => host.storeTime.now();
  }
}

type Parts = Pick<
  ExecutorHost,
  | "storeTime"
  | "lines"
  | "committer"
  | "lease"
  | "inbox"
  | "draining"
  | "replied"
  | "progressed"
  | "kept"
  | "retried"
  | "left"
  | "localTasks"
  | "others"
  | "near"
  | "noteTaskLimit"
  | "pace"
> & { readonly ports: PortsBundle; readonly options: Pick<ResolvedWorkerOptions, "tuning" | "name"> };

/** The host of one worker's executors, assembled from its ports and parts. */
export function executorHost(parts: Parts): ExecutorHost {
  const { ports, options, storeTime, lines, committer, lease, inbox, draining, progressed, kept, retried, left } =
    parts;
  const { localTasks, others, near, noteTaskLimit, replied, pace } = parts;
  const { clock, random, codec, log, store, steps, telemetry, redact } = ports;
  const { windUpMs, eventsPerHoldMax, taskHoldMs: holdMs } = options.tuning;
  const { opsMax } = ports.limits ?? DEFAULT_LIMITS;
  return {
    clock,
    random,
    codec,
    log,
    lines,
    storeTime,
    loop: new TurnLoop((callback) => clock.immediate(callback)),
    watch: new StepWatch(clock),
    pace,
    committer,
    lease,
    inbox,
    store,
    ports,
    steps,
    telemetry,
    stretches: telemetry && new Stretches(clock, telemetry, options.name),
    record: (error, about) => toErrorRecord(error, redact ? { ...about, redact } : about),
    name: options.name,
    opsMax,
    failForgotten: ports.onForgotten === "fail",
    windUpMs,
    eventsPerHoldMax,
    holdMs,
    localTasks,
    others,
    near,
    noteTaskLimit,
    draining,
    replied,
    progressed,
    kept,
    retried,
    left,
  };
}
