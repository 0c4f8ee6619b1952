import {
  type AttributeValue,
  CLOSED_STATUSES,
  type EndPosition,
  type EventDraft,
  type StartRun,
} from "holdfast/adapter";
import { aStart, REPLACED, SWEEP } from "../fixture.ts";
import { CODES, errorRecord } from "../sample-data.ts";
import type { Call } from "./call.ts";
import { randomRun, sameRun, someNamespace, someRun, someWorker, someWorkerId } from "./choices.ts";
import { claimCall } from "./claim-call.ts";
import { commitCall } from "./commit-call.ts";
import { deliverCall, takenCall } from "./deliver-call.ts";
import type { Dice } from "./dice.ts";
import { forkCall } from "./fork-call.ts";
import { lookAtQueuesCall, setQueueCall } from "./limits/calls.ts";
import { leadCall, lookAtSchedulesCall, putSchedulesCall, removeScheduleCall } from "./schedules/calls.ts";
import { stateFilter } from "./state-filter.ts";
import {
  askCall,
  deliverTalksCall,
  lookAtTalksCall,
  passCall,
  payCall,
  permitCall,
  startTalksCall,
  tellCall,
  watchCall,
} from "./talks/calls.ts";
import {
  beatTasksCall,
  cancelTasksCall,
  claimTasksCall,
  expireTaskCall,
  finishTasksCall,
  lookAtTasksCall,
} from "./tasks/calls.ts";
import { type OperationKind, type Subject, WEIGHTS_OF } from "./weights.ts";
import { IDS, NAMESPACES, type World } from "./world.ts";

export type { Subject } from "./weights.ts";

/** Makes a call from the present contents; undefined if there is nothing to call it on. */
type MakeCall = (world: World, dice: Dice) => Call | undefined;

/** One operation: the kind of call, and the seed of all its choices. Time passes before it. */
export interface Operation {
  readonly kind: OperationKind;
  readonly seed: number;
  readonly passMs: number;
}

/** Parks at the first death, so that it happens often. */
const SWEEP_SOON = { ...SWEEP, parkAfter: 1 };

export function randomOperations(dice: Dice, count: number, about: Subject): Operation[] {
  const kinds = Object.entries(WEIGHTS_OF[about]).flatMap(([kind, weight]) =>
    Array.from({ length: weight }, () => kind),
  );
  return Array.from({ length: count }, () => ({
    kind: dice.pick(kinds) as OperationKind,
    seed: dice.int(2 ** 31),
    // Now and then the clock is set back.
    passMs: dice.of(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 7, 7, 100, 100, 700, 700, -60),
  }));
}

export const MAKERS: Readonly<Record<OperationKind, MakeCall>> = {
  claim(world, dice) {
    return world.liveWorkers.length === 0 ? MAKERS.register(world, dice) : claimCall(world, dice);
  },

  commit(world, dice) {
    return world.heldRuns.length === 0 ? MAKERS.claim(world, dice) : commitCall(world, dice, "runs");
  },

  commitTasks(world, dice) {
    if (world.heldRuns.length > 0) return commitCall(world, dice, "tasks");
    return dice.chance(0.5) ? MAKERS.claim(world, dice) : MAKERS.start(world, dice);
  },

  claimTasks(world, dice) {
    const isDue = world.contents.tasks.some(
      ({ availableAt, status }) => availableAt !== null || (world.limited && status === "due"),
    );
    return isDue && world.liveWorkers.length > 0 ? claimTasksCall(world, dice) : MAKERS.commitTasks(world, dice);
  },

  finishTasks(world, dice) {
    const inProgress = world.contents.tasks.some(({ status }) => status === "held" || status === "external");
    return inProgress ? finishTasksCall(world, dice) : MAKERS.claimTasks(world, dice);
  },

  commitTalks(world, dice) {
    return world.heldRuns.length === 0 ? MAKERS.claim(world, dice) : commitCall(world, dice, "conversations");
  },

  pay: (world, dice) => (world.contents.debts.length > 0 ? payCall(world, dice) : MAKERS.commitTalks(world, dice)),

  putSchedules: putSchedulesCall,
  lookAtSchedules: lookAtSchedulesCall,
  removeSchedule: removeScheduleCall,
  lead: leadCall,

  setQueue: setQueueCall,
  lookAtQueues: lookAtQueuesCall,

  startTalks: startTalksCall,
  deliverTalks: deliverTalksCall,
  tell: tellCall,
  pass: passCall,
  watch: watchCall,
  permit: permitCall,
  ask: askCall,
  lookAtTalks: lookAtTalksCall,
  expireTask: expireTaskCall,
  beatTasks: beatTasksCall,
  cancelTasks: cancelTasksCall,
  lookAtTasks: lookAtTasksCall,

  start(world, dice) {
    const namespace = dice.of("default", "default", "other");
    const starts = dice.some(world.ids, 3).map((id): StartRun => {
      const again = dice.chance(0.1) ? dice.pick(world.contents.runs) : undefined;
      const run = again && again.namespace === namespace ? sameRun(again) : randomRun(world, dice, namespace, id);
      return aStart(run, {
        ifRunning: dice.of("return", "fail", "replace"),
        ifClosed: dice.of("start", "start", "return", "fail"),
        hold: dice.chance(0.5),
        pick: dice.of(null, null, 0, 0.3, 0.9),
      });
    });
    const distinct = starts.filter(({ run }, i) => starts.findIndex((other) => other.run.id === run.id) === i);
    const holdBy = dice.chance(0.7) ? { workerId: someWorkerId(world, dice), claimId: world.newClaimId() } : null;
    return { method: "runs.start", params: { starts: distinct, holdBy, replaceError: REPLACED } };
  },

  deliver: deliverCall,

  /** The caller did not get the answer, or an old packet arrives late. */
  repeat(world, dice) {
    const call = dice.pick(world.calls.slice(-dice.of(1, 1, 4, 10, world.calls.length)));
    if (call?.method === "inbox.deliver" && dice.chance(0.5)) return takenCall(call.params) ?? call;
    if (call?.method === "runs.claim") return { ...call, params: { ...call.params, again: true } };
    return call?.method === "tasks.claim" ? { ...call, params: { ...call.params, again: true } } : call;
  },

  register(world, dice) {
    const known = dice.chance(0.2) ? dice.pick(world.workerIds) : undefined;
    const worker = {
      namespace: dice.of("default", "default", "other"),
      name: "worker",
      queues: ["default"],
      workflows: ["order"],
      labels: { zone: "eu" },
      ...(dice.chance(0.5) ? { tasks: ["mail"] } : {}),
      leaseMs: dice.of(1_000, 2_000, 20_000),
      ...(dice.chance(0.5) ? { host: "here", pid: dice.int(3) } : {}),
    };
    return { method: "workers.register", params: { workerId: known ?? world.newWorkerId(), ...worker } };
  },

  sweep(world, dice) {
    const gone = dice.chance(0.3) ? { gone: [someWorkerId(world, dice)] } : {};
    return { method: "workers.sweep", params: { ...SWEEP_SOON, ...gone } };
  },

  /** Time passes until the lease of a worker that holds something has expired. */
  crash(world, dice) {
    const workerId = dice.pick([...world.heldRuns, ...world.heldTasks])?.heldBy;
    const worker = world.contents.workers.find((row) => row.workerId === workerId);
    world.now = Math.max(world.now, worker?.leaseExpiresAt ?? 0);
    return { method: "workers.sweep", params: SWEEP_SOON };
  },

  heartbeat(world, dice) {
    const params = { ...someWorker(world, dice), leaseMs: dice.of(1_000, 20_000), draining: dice.chance(0.2) };
    return { method: "workers.heartbeat", params };
  },

  release(world, dice) {
    const held = dice.pick(world.heldRuns);
    const worker = held?.heldBy
      ? { namespace: someNamespace(held.namespace, dice), workerId: held.heldBy }
      : someWorker(world, dice);
    const runs = dice.some(world.heldRuns, 3).map((run) => ({
      runId: run.runId,
      epoch: run.epoch + (dice.chance(0.8) ? 0 : dice.of(-1, 1)),
    }));
    return { method: "runs.releaseIfHeld", params: { ...worker, runs } };
  },

  restart(world, dice) {
    const row = dice.pick(dice.chance(0.8) && world.heldRuns.length > 0 ? world.heldRuns : world.contents.runs);
    if (!row) return undefined;
    const beside = (): number => (dice.chance(0.9) ? 0 : dice.of(-1, 1));
    const event = { type: "run_restarted", op: null, meta: { by: "watchdog", reason: "stalled_run" } } as const;
    const at = {
      epoch: row.epoch + beside(),
      commit: row.commit + beside(),
      eventCount: row.eventCount + beside(),
    };
    const params = { namespace: someNamespace(row.namespace, dice), runId: row.runId, ...at, event };
    return { method: "runs.restartIfHeld", params };
  },

  stop: (world, dice) => ({ method: "workers.stop", params: someWorker(world, dice) }),

  terminate(world, dice) {
    const error = errorRecord("terminated");
    return { method: "runs.terminate", params: { runs: [someRun(world, dice)], error } };
  },

  resume(world, dice) {
    const parked = dice.pick(world.contents.runs.filter((run) => run.status === "parked"));
    const run =
      parked && dice.chance(0.8) ? { namespace: parked.namespace, runId: parked.runId } : someRun(world, dice);
    const row = world.contents.runs.find(({ runId, id }) => ("runId" in run ? runId === run.runId : id === run.id));
    const epoch = (row?.epoch ?? 0) + (dice.chance(0.9) ? 0 : dice.of(-1, 1));
    const event = dice.of<EventDraft>(
      { type: "run_resumed", op: null },
      { type: "run_resumed", op: null, meta: { by: "ana", reason: "go on" } },
    );
    const dueAt = dice.chance(0.7) ? null : world.now + dice.of(-5, 0, 900);
    return { method: "runs.resumeIfParked", params: { run, epoch, event, dueAt } };
  },

  pause(world, dice) {
    const open = dice.pick(world.contents.runs.filter((run) => run.heldBy === null && run.endedAt === null));
    const row = open && dice.chance(0.8) ? open : dice.pick(world.contents.runs);
    if (!row) return undefined;
    const run = { namespace: someNamespace(row.namespace, dice), runId: row.runId };
    const epoch = row.epoch + (dice.chance(0.9) ? 0 : dice.of(-1, 1));
    const error = { ...errorRecord("paused"), code: "paused", data: { by: dice.of("ana", "ben") } };
    return { method: "runs.pauseIfIdle", params: { run, epoch, error } };
  },

  takeUp(world, dice) {
    const handlers = [
      { workflow: "order", version: "1", code: dice.of(CODES[0], CODES[1], CODES[1]) },
      { workflow: "order", version: "2", code: dice.of(CODES[0], CODES[1], CODES[1]) },
    ];
    const worker = dice.pick(world.liveWorkers);
    const params = {
      workerId: worker?.workerId ?? someWorkerId(world, dice),
      claimId: world.newClaimId(),
      namespace: someNamespace(worker?.namespace, dice),
      queues: ["default", "slow"],
      handlers,
      limit: 100,
      event: { type: "run_resumed", op: null, meta: { by: "worker" } } as const,
    };
    return { method: "runs.holdIfParkedByOtherCode", params };
  },

  reopen(world, dice) {
    const failed = dice.pick(world.contents.runs.filter((run) => run.status === "failed"));
    const run = failed ?? dice.pick(world.contents.runs);
    if (!run) return undefined;
    const eventCount = Math.max(0, run.eventCount + (dice.chance(0.8) ? 0 : dice.of(-1, 1)));
    const namespace = someNamespace(run.namespace, dice);
    const event = { type: "run_retried", op: null, meta: { forgets: ["charge"] } } as const;
    return { method: "runs.reopenIfFailed", params: { run: { namespace, runId: run.runId }, eventCount, event } };
  },

  fork: forkCall,

  purge(world, dice) {
    const statuses = dice.some(CLOSED_STATUSES, 3);
    const params = {
      namespace: dice.of("default", "default", "other"),
      endedBefore: dice.pick(world.contents.runs)?.endedAt ?? world.now - dice.of(-1, 0, 700, 20_000),
      limit: dice.of(1, 2, 100),
      ...(dice.chance(0.5) ? { statuses } : {}),
      ...(dice.chance(0.3) ? { sparesLastOfSchedules: true } : {}),
      ...(dice.chance(0.3) ? { after: someEnd(world, dice) } : {}),
    };
    return { method: "runs.purge", params };
  },

  version(_world, dice) {
    const [namespace, workflow, version] = ["default", dice.of("order", "refund"), dice.of("1", "2", "3")];
    if (dice.chance(0.4)) {
      const versions = [{ workflow, version, hash: `hash ${dice.int(3)}` }];
      return { method: "versions.register", params: { namespace, versions } };
    }
    const change = dice.of({ isDefault: true } as const, { share: 0.5 }, { deprecated: dice.chance(0.5) });
    return { method: "versions.updateIfKnown", params: { namespace, workflow, version, change } };
  },

  list(world, dice) {
    const filter = {
      namespace: dice.of("default", "default", "other"),
      ...(dice.chance(0.3) ? { id: dice.pick(IDS) as string } : {}),
      ...(dice.chance(0.3) ? { workflow: "order" } : {}),
      ...(dice.chance(0.3) ? { version: dice.of("1", "2") } : {}),
      ...(dice.chance(0.3) ? { queue: dice.of("default", "slow") } : {}),
      ...(dice.chance(0.3) ? { statuses: dice.some(["running", "pending", "completed", "waiting"] as const, 3) } : {}),
      ...(dice.chance(0.3) ? { attributes: { region: dice.of<AttributeValue>("eu", 1, null, true) } } : {}),
      ...(dice.chance(0.2) ? { createdAfter: world.now - dice.int(5_000) } : {}),
      ...(dice.chance(0.2) ? { createdBefore: world.now - dice.int(5_000) } : {}),
      ...(dice.chance(0.15)
        ? { forkedFrom: dice.pick(world.contents.runs)?.forkedFrom?.runId ?? world.strangeId() }
        : {}),
      ...stateFilter(world, dice),
    };
    if (dice.chance(0.3)) return { method: "runs.count", params: { ...filter, atMost: dice.of(null, 2) } };
    const last = dice.chance(0.5) ? dice.pick(world.contents.runs) : undefined;
    const before = last ? { before: { createdAt: last.createdAt, runId: last.runId } } : {};
    return { method: "runs.list", params: { ...filter, ...before, limit: dice.of(2, 100) } };
  },

  read(world, dice) {
    const runs = dice.some(world.runIds, 4).map((runId) => ({ namespace: dice.pick(NAMESPACES) as string, runId }));
    if (dice.chance(0.5))
      return { method: "inbox.read", params: { runs: runs.map((run) => ({ ...run, after: dice.int(3) })) } };
    const asked = runs.map((run) => ({ ...run, afterSeq: dice.int(4) }));
    return { method: "histories.read", params: { runs: asked, limitPerRun: dice.of(1, 3, 100) } };
  },
};

function someEnd(world: World, dice: Dice): EndPosition {
  const { endedAt, runId } = dice.pick(world.contents.runs) ?? { endedAt: null, runId: world.strangeId() };
  return { endedAt: endedAt ?? world.now - dice.int(500), runId };
}
