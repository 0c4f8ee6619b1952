import type {
  PutSchedule,
  PutScheduleOutcome,
  Schedule,
  ScheduleDefinition,
  ScheduleState,
  StartRun,
} from "holdfast/adapter";
import { aStart, type Fixture } from "./fixture.ts";
import { bytes } from "./sample-data.ts";

/** Hourly. */
export const DEFINITION: ScheduleDefinition = {
  spec: {
    cron: [],
    every: [{ everyMs: 3_600_000, offsetMs: 0 }],
    at: [],
    timezone: "UTC",
    jitterMs: 0,
    fromMs: null,
    untilMs: null,
  },
  workflow: "order",
  version: null,
  fallbackVersion: "1",
  queue: "default",
  priority: 0,
  attributes: { team: "a" },
  timeoutMs: null,
  overlap: "skip",
  catchUpMax: 100,
  catchUpWindowMs: null,
  paused: false,
  note: null,
  by: null,
};

export const STATE: ScheduleState = {
  nextAt: null,
  lastAt: null,
  openId: null,
  buffered: [],
  waits: "no",
  failures: 0,
  lastError: null,
};

/** A put of a new schedule, unless a revision is given. */
export function aPut(t: Fixture, fields: Partial<PutSchedule> & { readonly id: string }): PutSchedule {
  const fresh = fields.revision === undefined ? { definition: DEFINITION, input: bytes('"in"') } : {};
  return {
    namespace: "default",
    revision: null,
    next: t.newId(),
    state: STATE,
    decided: [],
    starts: [],
    ...fresh,
    ...fields,
  };
}

export async function put(t: Fixture, ...puts: readonly PutSchedule[]): Promise<readonly PutScheduleOutcome[]> {
  return (await t.store.schedules.putIfRevision({ puts, announce: true })).outcomes;
}

/** Creates a schedule and returns it. */
export async function aSchedule(t: Fixture, fields: Partial<PutSchedule> & { readonly id: string }): Promise<Schedule> {
  await put(t, aPut(t, fields));
  return readSchedule(t, fields.id, fields.namespace);
}

export async function readSchedule(t: Fixture, id: string, namespace = "default"): Promise<Schedule> {
  const [schedule] = await t.store.schedules.read({ schedules: [{ namespace, id }] });
  return schedule as Schedule;
}

/** A start as schedules make them. */
export function scheduledStart(t: Fixture, id: string, runId = t.newId()): StartRun {
  return aStart(t.newRun({ runId, id }), { ifRunning: "return", ifClosed: "return" });
}
