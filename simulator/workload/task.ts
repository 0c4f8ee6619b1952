import type { TaskCallOptions } from "../../packages/holdfast/src/replay/ops/task-options.ts";
import type { Dice } from "../dice.ts";
import { type EffectPlan, noteSight, type OpKind, type Site } from "./program.ts";
import { definitionOf } from "./task-definitions.ts";

export const QUEUES = ["default", "mail", "images"] as const;
const LABELS = [["gpu"], ["eu"], ["eu", "gpu=a100"]] as const;

/** What a task does, wherever it is executed: its input. */
export interface TaskPlan extends EffectPlan {
  readonly attempts: number;
  /** How many executions hang until they are aborted. */
  readonly stalls: number;
  /** How many times it reports how far it is. */
  readonly beats: number;
  /** It leaves its attempt open: someone with its token ends it. */
  readonly later: boolean;
  /** It has a compensation. */
  readonly undone: boolean;
}

interface TaskLimits {
  readonly timeoutMs: number | undefined;
  readonly heartbeatMs: number | undefined;
  readonly startTimeoutMs: number | undefined;
  readonly totalTimeoutMs: number | undefined;
}

export interface TaskNode {
  readonly kind: "task" | "approval";
  readonly plan: TaskPlan;
  readonly undo: EffectPlan | undefined;
  readonly backoffMs: number;
  readonly limits: TaskLimits;
  readonly queue: string;
  readonly requires: readonly string[];
  readonly priority: number | undefined;
}

/** Work for another worker: with retries, limits, heartbeats, labels; now and then it kills its worker. */
export const task: OpKind<TaskNode> = {
  kind: "task",
  draw({ dice, name, settings }) {
    const op = name("k");
    const limits = drawLimits(dice);
    const undo = drawUndo(dice, op);
    const attempts = dice.pick([1, 2, 3]);
    const mayStall = limits.timeoutMs !== undefined || limits.heartbeatMs !== undefined;
    return {
      kind: "task",
      plan: {
        op,
        ms: dice.pick([0, 0, 20, 300, 2_500]),
        attempts,
        failures: dice.chance(0.3) ? dice.int(1, attempts - (dice.chance(0.8) ? 1 : 0)) : 0,
        fatal: dice.chance(0.03),
        heeds: dice.chance(0.5),
        untilMended: dice.chance(0.02),
        once: dice.chance(0.2),
        kills: dice.chance(settings.killers) ? dice.int(1, 2) : 0,
        stalls: mayStall && dice.chance(0.3) ? 1 : 0,
        beats: dice.chance(0.4) ? dice.int(1, 4) : 0,
        later: dice.chance(0.1),
        undone: undo !== undefined,
      },
      undo,
      backoffMs: dice.pick([0, 50, 1_500]),
      limits,
      queue: dice.pick([QUEUES[0], QUEUES[0], QUEUES[1], QUEUES[2]]),
      requires: dice.chance(0.3) ? dice.pick(LABELS) : [],
      priority: dice.chance(0.2) ? dice.int(-1, 1) : undefined,
    };
  },
  run: (node, site) => runTask(node, site),
};

/** Work that no worker does: someone outside ends it with a token. */
export const approval: OpKind<TaskNode> = {
  kind: "approval",
  draw({ dice, name }) {
    const op = name("e");
    const undo = drawUndo(dice, op);
    const { startTimeoutMs: _none, ...limits } = drawLimits(dice);
    const plan = { op, ms: 0, failures: 0, stalls: 0, beats: 0, later: false };
    return {
      kind: "approval",
      plan: { ...plan, attempts: dice.pick([1, 2, 3]), undone: undo !== undefined },
      undo,
      backoffMs: 0,
      limits: { ...limits, startTimeoutMs: undefined },
      queue: QUEUES[0],
      requires: [],
      priority: undefined,
    };
  },
  run: (node, site) => runTask(node, site),
};

function drawLimits(dice: Dice): TaskLimits {
  const maybe = (probability: number, ...choices: number[]): number | undefined =>
    dice.chance(probability) ? dice.pick(choices) : undefined;
  return {
    timeoutMs: maybe(0.2, 300, 1_500, 8_000),
    heartbeatMs: maybe(0.2, 400, 2_000),
    startTimeoutMs: maybe(0.06, 3_000),
    totalTimeoutMs: maybe(0.06, 5_000),
  };
}

function drawUndo(dice: Dice, op: string): EffectPlan | undefined {
  if (!dice.chance(0.3)) return undefined;
  return { op: `compensate:${op}`, ms: dice.pick([0, 200]), failures: dice.pick([0, 0, 1]), shielded: true };
}

function runTask({ plan, undo, backoffMs, limits, queue, requires, priority }: TaskNode, site: Site): Promise<string> {
  const { runId } = site.ctx.info;
  const wanted = site.shielded ? { ...plan, shielded: true } : plan;
  const milliseconds = (option: string, ms: number | undefined): object =>
    ms === undefined ? {} : { [option]: { milliseconds: ms } };
  const options: TaskCallOptions<string> = {
    queue,
    requires,
    retry: { attempts: plan.attempts, fixed: { milliseconds: backoffMs } },
    ...(priority === undefined ? {} : { priority }),
    ...(plan.once ? { onCrash: "fail" as const } : {}),
    ...milliseconds("timeout", limits.timeoutMs),
    ...milliseconds("heartbeat", limits.heartbeatMs),
    ...milliseconds("startTimeout", limits.startTimeoutMs),
    ...milliseconds("totalTimeout", limits.totalTimeoutMs),
    ...(undo
      ? {
          compensate: (value: string | undefined, info) =>
            site.stage.perform(runId, { ...undo, told: `${info.outcome} ${value ?? "-"}` }, info, {
              seq: 0,
              sights: [],
            }),
        }
      : {}),
  };
  return noteSight(site, plan.op, site.ctx.task(definitionOf(plan.op), { plan: wanted }, options));
}
