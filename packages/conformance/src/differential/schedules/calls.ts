import {
  type DuePosition,
  type ErrorRecord,
  type OpenRun,
  OVERLAP_POLICIES,
  type PutSchedule,
  type Schedule,
  type StartRun,
} from "holdfast/adapter";
import { aStart } from "../../fixture.ts";
import { bytes, LEASE_MS } from "../../sample-data.ts";
import { DEFINITION } from "../../sample-schedules.ts";
import type { Call } from "../call.ts";
import { randomRun, someNamespace } from "../choices.ts";
import type { Dice } from "../dice.ts";
import { IDS, NAMESPACES, type World } from "../world.ts";

const SCHEDULE_IDS = ["s", "t", "u"];

/** Puts to several schedules: new ones, changes, with a revision that is over now and then, and runs that they start. */
export function putSchedulesCall(world: World, dice: Dice): Call {
  const ids = SCHEDULE_IDS.filter(() => dice.chance(0.5));
  const namespace = dice.pick(NAMESPACES) as string;
  const puts = (ids.length > 0 ? ids : ["s"]).map((id) => put(world, dice, namespace, id));
  return { method: "schedules.putIfRevision", params: { puts, announce: dice.chance(0.5) } };
}

function put(world: World, dice: Dice, namespace: string, id: string): PutSchedule {
  const known = world.contents.schedules?.all.find((one) => one.namespace === namespace && one.id === id);
  const fresh = !known || dice.chance(0.05);
  const revision = fresh ? null : dice.chance(0.9) ? known.revision : world.strangeId();
  const definition = { ...DEFINITION, overlap: dice.pick(OVERLAP_POLICIES) as never, paused: dice.chance(0.2) };
  const starts = dice.chance(0.4) ? [scheduledStart(world, dice, namespace, id)] : [];
  return {
    namespace,
    id,
    revision,
    next: world.strangeId(),
    ...(fresh || dice.chance(0.2) ? { definition, input: bytes(`"${dice.int(9)}"`) } : {}),
    state: {
      nextAt: dice.chance(0.3) ? null : world.now + dice.int(400) - 100,
      lastAt: null,
      openId: starts[0]?.run.id ?? (dice.chance(0.5) ? ownId(dice, id) : null),
      buffered: dice.chance(0.3) ? [1] : [],
      waits: dice.of("no", "no", "end", "look"),
      failures: dice.of(0, 0, 2),
      lastError: null,
    },
    decided: dice.chance(0.5) ? [{ at: world.now, what: dice.of("fired", "skipped") }] : [],
    ...(known && dice.chance(0.4) ? { assumes: { open: assumed(known, dice) } } : {}),
    ...(known?.open && dice.chance(0.3)
      ? { terminates: { runId: terminated(known.open, world, dice), error: ERROR } }
      : {}),
    starts,
  };
}

const ERROR: ErrorRecord = { name: "HoldfastError", message: "make way", kind: "Unknown" };

/** Mostly the open run of the schedule. */
function terminated({ runId }: OpenRun, world: World, dice: Dice): string {
  return dice.chance(0.9) ? runId : world.strangeId();
}

function assumed({ open }: Schedule, dice: Dice): boolean {
  return (open !== null && !["completed", "failed", "terminated"].includes(open.status)) !== dice.chance(0.2);
}

/** Runs of two schedules never have the same id; others can have it. */
function ownId(dice: Dice, schedule: string): string {
  return dice.pick(IDS.filter((_, i) => i % SCHEDULE_IDS.length === SCHEDULE_IDS.indexOf(schedule))) as string;
}

function scheduledStart(world: World, dice: Dice, namespace: string, schedule: string): StartRun {
  const run = randomRun(world, dice, namespace, ownId(dice, schedule));
  return aStart(run, { ifRunning: "return", ifClosed: "return", pick: null });
}

function duePosition(world: World, dice: Dice, namespace: string, id: string): DuePosition {
  return { namespace, id, dueAt: dice.chance(0.5) ? null : world.now + dice.int(200) - 100 };
}

export function lookAtSchedulesCall(world: World, dice: Dice): Call {
  const namespace = someNamespace("default", dice);
  const id = dice.pick(SCHEDULE_IDS) as string;
  return dice.of<Call>(
    { method: "schedules.due", params: { limit: 1 + dice.int(4) } },
    { method: "schedules.due", params: { limit: 1 + dice.int(4), after: duePosition(world, dice, namespace, id) } },
    { method: "schedules.list", params: { namespace, limit: 1 + dice.int(3), failing: dice.chance(0.5), after: "s" } },
    {
      method: "schedules.read",
      params: {
        schedules: [
          { namespace, id },
          { namespace, id: "nobody" },
        ],
      },
    },
    { method: "schedules.decisions", params: { namespace, id } },
    { method: "workers.readLeader", params: {} },
  );
}

export function removeScheduleCall(_world: World, dice: Dice): Call {
  const [namespace, id] = [dice.pick(NAMESPACES) as string, dice.pick(SCHEDULE_IDS) as string];
  return { method: "schedules.remove", params: { namespace, id } };
}

/** A heartbeat of a worker that may lead. */
export function leadCall(world: World, dice: Dice): Call | undefined {
  const worker = dice.pick(world.contents.workers);
  if (!worker) return undefined;
  const { namespace, workerId } = worker;
  const params = { namespace, workerId, leaseMs: LEASE_MS, draining: dice.chance(0.2), coordinates: dice.chance(0.8) };
  return { method: "workers.heartbeat", params };
}
