import { Dice } from "./dice.ts";

/**
 * Everything about a simulator run that can be chosen. Plain data: it is printed, edited when shrinking, and replayed.
 */
export interface Configuration {
  readonly seed: number;
  readonly temper: Temper;
  readonly workers: number;
  /** Further workers, which only execute tasks. */
  readonly helpers: number;
  readonly worker: WorkerSettings;
  readonly clocks: ClockSettings;
  readonly store: StoreSettings;
  readonly hints: HintSettings;
  readonly trouble: TroubleSettings;
  readonly segments: SegmentSettings;
  readonly limits: LimitSettings;
  readonly moves: MoveSettings;
  readonly workload: WorkloadSettings;
  /** How long faults are injected. */
  readonly safetyMs: number;
}

export type Temper = "calm" | "moderate" | "savage";

export interface WorkerSettings {
  readonly concurrency: number;
  readonly cacheSize: number;
  readonly leaseMs: number;
  readonly drainMs: number;
  readonly flushesInFlightMax: number;
  readonly runsPerFlushMax: number;
  readonly eventsPerFlushMax: number;
  /** 0: no limit. */
  readonly eventsPerHoldMax: number;
  readonly windUpMs: number;
  readonly claimFallbackMs: number;
  readonly suspectAfter: number;
  readonly parkAfter: number;
  readonly taskConcurrency: number;
  readonly taskHoldMs: number;
}

export interface ClockSettings {
  readonly skewMsMax: number;
  /** By what share the clock of a process may run fast or slow. */
  readonly driftMax: number;
}

/** Latencies in milliseconds, the rest as probabilities per call. */
export interface StoreSettings {
  readonly latencyMs: number;
  readonly tailMs: number;
  readonly tail: number;
  /** The call fails and has no effect. */
  readonly unavailable: number;
  /** The connection breaks before the call takes effect: the outcome is unknown to the caller. */
  readonly brokenBefore: number;
  /** The connection breaks after the call took effect. */
  readonly brokenAfter: number;
  /** The caller gets an unknown outcome, and the call takes effect later. */
  readonly timeout: number;
  /** The call takes effect twice, the second time later. */
  readonly duplicate: number;
  /** The answer arrives only after several leases. */
  readonly hang: number;
  /** Another transaction has locked a row of the call. */
  readonly busy: number;
}

export interface HintSettings {
  readonly lost: number;
  readonly doubled: number;
  readonly late: number;
  readonly lateMs: number;
}

export const TROUBLES = [
  "kill",
  "killAll",
  "freeze",
  "cutOff",
  "dropConnection",
  "drain",
  "stop",
  "slow",
  "outage",
  "clockJump",
  "storeJump",
  "deploy",
  "newVersion",
  "killClient",
] as const;

export type Trouble = (typeof TROUBLES)[number];

export interface TroubleSettings {
  /** The mean time between two faults. */
  readonly everyMs: number;
  readonly weights: Readonly<Record<Trouble, number>>;
}

export interface SegmentSettings {
  /** 0: nobody packs. */
  readonly eventsPerSegment: number;
  /** The mean time between two stored segments that are damaged or lost, and between two that somebody reads; 0: none is. */
  readonly harmMs: number;
  readonly auditMs: number;
}

export interface LimitSettings {
  /** How many keys runs have; 0: no queue has limits. */
  readonly keys: number;
  /** The mean time between two changes of the limits of a queue; 0: they stay as they are. */
  readonly changeMs: number;
}

/** A scenario of its own, beside the other one: runs that move between stores. */
export interface MoveSettings {
  /** 0: there is none. */
  readonly stores: number;
  readonly runs: number;
  /** How many movers there are at a time. */
  readonly movers: number;
  /** Whether what has ended is deleted. */
  readonly retention: boolean;
}

export interface WorkloadSettings {
  readonly runs: number;
  readonly workflows: number;
  /** The most ops in one workflow. */
  readonly opsMax: number;
  readonly opWeights: Readonly<Record<string, number>>;
  readonly cancels: number;
  readonly terminations: number;
  readonly timeouts: number;
  readonly delays: number;
  /** Starts of an id that already exists. */
  readonly restarts: number;
  /** Failed runs that an operator retries. */
  readonly retries: number;
  readonly killers: number;
  /** Runs answer updates and queries, and callers send them some. */
  readonly talks: boolean;
  /** The mean time between two actions of an operator who pauses and resumes runs; 0: there is none. */
  readonly operatorMs: number;
  /** The same for one who forks runs. */
  readonly forksMs: number;
  /** After what time a watchdog ends attempts and restarts runs that make no progress; 0: there is none. */
  readonly watchdogMs: number;
  /** Whether it cancels runs as well; otherwise that rule is on trial. */
  readonly watchdogCancels: boolean;
  /** How many may be inside of a lock; 0: each request says another number. */
  readonly lockLimit: number;
}

export function drawConfiguration(seed: number, kinds: readonly string[]): Configuration {
  const dice = new Dice(`configuration ${seed}`);
  const temper = dice.pick<Temper>(["calm", "moderate", "moderate", "savage", "savage"]);
  const harm = { calm: 0, moderate: 1, savage: 4 }[temper];
  const leaseMs = dice.pick([1_000, 1_500, 3_000, 6_000]);
  return {
    seed,
    temper,
    workers: dice.pick([1, 2, 2, 3, 3, 4]),
    helpers: new Dice(`helpers ${seed}`).pick([0, 0, 1, 1, 2]),
    worker: { ...drawWorker(dice, leaseMs), ...drawTaskSlots(new Dice(`task slots ${seed}`)) },
    clocks: {
      skewMsMax: dice.pick([0, 100, 60_000]),
      driftMax: dice.pick([0, 0.001, 0.02]),
    },
    store: drawStore(dice, harm),
    hints: {
      lost: dice.pick([0, 0.1, 0.5, 1]),
      doubled: dice.pick([0, 0.2]),
      late: dice.pick([0, 0.2]),
      lateMs: dice.pick([50, 2_000]),
    },
    trouble: drawTrouble(dice, harm, leaseMs),
    segments: drawSegments(new Dice(`segments ${seed}`)),
    limits: drawLimits(new Dice(`limits ${seed}`)),
    moves: drawMoves(new Dice(`moves ${seed}`)),
    workload: {
      ...withLocks(
        withTalk(
          withLater(drawWorkload(dice, kinds, new Dice(`tasks ${seed}`)), new Dice(`later ${seed}`)),
          new Dice(`talk ${seed}`),
        ),
        new Dice(`locks ${seed}`),
      ),
      operatorMs: new Dice(`operator ${seed}`).pick([0, 0, 0, 0, 100, 400, 1_500]),
      forksMs: new Dice(`forking ${seed}`).pick([0, 0, 0, 0, 500, 2_000]),
      watchdogMs: new Dice(`watchdog ${seed}`).pick([0, 0, 0, 500, 1_500]),
      watchdogCancels: new Dice(`cancels of watchdogs ${seed}`).chance(0.5),
    },
    safetyMs: dice.int(15, 40) * 1_000,
  };
}

type TaskSlots = Pick<WorkerSettings, "taskConcurrency" | "taskHoldMs">;

function drawTaskSlots(dice: Dice): TaskSlots {
  return { taskConcurrency: dice.pick([1, 2, 5, 100]), taskHoldMs: dice.pick([1, 100, 1_000]) };
}

function drawWorker(dice: Dice, leaseMs: number): Omit<WorkerSettings, keyof TaskSlots> {
  return {
    concurrency: dice.pick([1, 2, 5, 100]),
    cacheSize: dice.pick([0, 1, 3, 1_000]),
    leaseMs,
    drainMs: dice.pick([0, 500, 5_000]),
    flushesInFlightMax: dice.pick([1, 2, 4]),
    runsPerFlushMax: dice.pick([1, 2, 1_000]),
    eventsPerFlushMax: dice.pick([1, 3, 5_000]),
    eventsPerHoldMax: dice.pick([0, 0, 1, 4]),
    windUpMs: dice.pick([200, 2_000]),
    claimFallbackMs: dice.pick([500, 2_000, 5_000]),
    suspectAfter: dice.pick([1, 2, 3]),
    parkAfter: dice.pick([1, 3]),
  };
}

function drawStore(dice: Dice, harm: number): StoreSettings {
  const rate = (...rates: number[]): number => dice.pick([0, ...rates]) * harm;
  return {
    latencyMs: dice.pick([1, 5, 30]),
    tailMs: dice.pick([50, 400, 1_500]),
    tail: rate(0.01, 0.05),
    unavailable: rate(0.01, 0.04),
    brokenBefore: rate(0.005, 0.02),
    brokenAfter: rate(0.01, 0.04),
    timeout: rate(0.005, 0.02),
    duplicate: rate(0.01, 0.04),
    hang: rate(0.001, 0.003),
    busy: rate(0.01, 0.05),
  };
}

/** Histories are short here, so segments are, too. */
function drawSegments(dice: Dice): SegmentSettings {
  const eventsPerSegment = dice.pick([0, 0, 1, 2, 3, 5]);
  const harmMs = dice.pick([0, 300, 1_000]);
  return { eventsPerSegment, harmMs: eventsPerSegment && harmMs, auditMs: eventsPerSegment && 400 };
}

/** In some seeds, queues have limits. */
function drawLimits(dice: Dice): LimitSettings {
  if (!dice.chance(0.3)) return { keys: 0, changeMs: 0 };
  return { keys: dice.int(1, 4), changeMs: dice.pick([0, 0, 1_000, 4_000]) };
}

/** In some seeds, runs move between stores. */
function drawMoves(dice: Dice): MoveSettings {
  if (!dice.chance(0.3)) return { stores: 0, runs: 0, movers: 0, retention: false };
  return { stores: dice.int(2, 3), runs: dice.int(4, 12), movers: dice.int(1, 3), retention: dice.chance(0.7) };
}

function drawTrouble(dice: Dice, harm: number, leaseMs: number): TroubleSettings {
  const everyMs = harm === 0 ? 0 : leaseMs * dice.pick([0.7, 1.5, 3]) * (harm > 1 ? 1 : 2);
  const weights = Object.fromEntries(TROUBLES.map((name) => [name, dice.pick([0, 1, 1, 3])]));
  weights["freeze"] = dice.pick([1, 2, 5]);
  // Killing all processes at once, all the time, would leave nothing to check.
  weights["killAll"] = dice.pick([0, 0, 0.3]);
  weights["storeJump"] = dice.pick([0, 0, 0.5]);
  weights["deploy"] = dice.pick([0, 0.5, 1]);
  return { everyMs, weights: weights as Record<Trouble, number> };
}

const TASK_KINDS: readonly string[] = ["task", "approval"];
const TALK_KINDS: readonly string[] = ["child", "family", "spawn", "post", "notice", "recall", "sequel", "condition"];
/** Drawn on their own, so that the other draws stay as they were. */
const LATER_KINDS: readonly string[] = ["handover"];
const LOCK_KINDS: readonly string[] = ["lock"];

const APART: readonly string[] = [...TASK_KINDS, ...TALK_KINDS, ...LATER_KINDS, ...LOCK_KINDS];

function drawWorkload(dice: Dice, kinds: readonly string[], taskDice: Dice): WorkloadSettings {
  const share = (...shares: number[]): number => dice.pick([0, ...shares]);
  const others = kinds.filter((kind) => !APART.includes(kind));
  const weights = Object.fromEntries(others.map((kind) => [kind, dice.pick([0, 1, 1, 2, 4])]));
  const tasks = { task: taskDice.pick([0, 2, 5, 12]), approval: taskDice.pick([0, 0, 1, 4]) };
  return {
    runs: dice.int(12, 48),
    workflows: dice.int(2, 8),
    opsMax: dice.pick([6, 12, 20]),
    opWeights: { ...weights, ...tasks, step: dice.pick([2, 5]), failure: dice.pick([0, 0, 0.3]) },
    cancels: share(0.1, 0.4),
    terminations: share(0.05, 0.2),
    timeouts: share(0.1, 0.3),
    delays: share(0.2),
    restarts: share(0.3),
    retries: share(0.5, 1),
    killers: share(0, 0.1),
    talks: false,
    operatorMs: 0,
    forksMs: 0,
    watchdogMs: 0,
    watchdogCancels: false,
    lockLimit: 0,
  };
}

function withLater(workload: WorkloadSettings, dice: Dice): WorkloadSettings {
  const weights = Object.fromEntries(LATER_KINDS.map((kind) => [kind, dice.pick([0, 0, 1, 3])]));
  return { ...workload, opWeights: { ...workload.opWeights, ...weights } };
}

/** In some seeds, runs take locks. */
function withLocks(workload: WorkloadSettings, dice: Dice): WorkloadSettings {
  if (!dice.chance(0.4)) return workload;
  const opWeights = { ...workload.opWeights, lock: dice.pick([2, 5, 12]) };
  return { ...workload, opWeights, lockLimit: dice.pick([0, 1, 1, 2, 3]) };
}

/** In some seeds, runs talk to each other and to callers. There are fewer of them: each has children. */
function withTalk(workload: WorkloadSettings, dice: Dice): WorkloadSettings {
  if (!dice.chance(0.35)) return workload;
  const weights = {
    child: dice.pick([1, 3, 6]),
    family: dice.pick([1, 3, 6]),
    spawn: dice.pick([0, 1, 2]),
    post: dice.pick([0, 1, 3]),
    notice: dice.pick([0, 1]),
    recall: dice.pick([0, 0, 0.3]),
    sequel: dice.pick([0, 1]),
    condition: dice.pick([0, 1, 2]),
  };
  return {
    ...workload,
    runs: Math.ceil(workload.runs / 2),
    workflows: Math.ceil(workload.workflows / 2),
    opWeights: { ...workload.opWeights, ...weights },
    talks: true,
  };
}

/** One line per group, for people to read. */
export function describeConfiguration(configuration: Configuration): string {
  const { seed, temper, workers, helpers, safetyMs, ...groups } = configuration;
  const lines = Object.entries(groups).map(([name, group]) => `  ${name.padEnd(9)} ${JSON.stringify(group)}`);
  return [
    `seed ${seed}: ${temper}, ${workers} workers, ${helpers} helpers, ${safetyMs / 1_000} s of faults`,
    ...lines,
  ].join("\n");
}
