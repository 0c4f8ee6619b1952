import { expect, test } from "vitest";
import { EVENT_TABLE, type EventType, eventRole } from "../../model/event.ts";
import type { OpEvents } from "../op.ts";
import { ATTRIBUTE_EVENTS } from "./attributes.ts";
import { CHILD } from "./child.ts";
import { COMPENSATION } from "./compensation.ts";
import { LOCK } from "./lock.ts";
import { MESSAGE } from "./message.ts";
import { PATCH_EVENTS } from "./patch.ts";
import { RECEIVE } from "./receive.ts";
import { RETIRED } from "./retired.ts";
import { SIDE_EFFECT_EVENTS } from "./side-effect.ts";
import { SLEEP } from "./sleep.ts";
import { STEP } from "./step.ts";
import { TASK } from "./task.ts";
import { UPDATE_KIND } from "./update.ts";

const KINDS: Readonly<Record<string, OpEvents>> = {
  step: STEP.events,
  task: TASK.events,
  compensation: COMPENSATION.events,
  sleep: SLEEP.events,
  receive: RECEIVE.events,
  retired: RETIRED.events,
  "side effect": SIDE_EFFECT_EVENTS,
  patch: PATCH_EVENTS,
  attributes: ATTRIBUTE_EVENTS,
  update: UPDATE_KIND,
  child: CHILD.events,
  message: MESSAGE.events,
  lock: LOCK.events,
};

test.each(Object.entries(KINDS))("what a %s writes and reads has the roles that it says", (_kind, events) => {
  const roles = (types: readonly EventType[]): string[] => [...new Set(types.map(eventRole))];
  expect(roles(events.commands)).toEqual(events.commands.length > 0 ? ["command"] : []);
  expect(roles(events.notes)).toEqual(events.notes.length > 0 ? ["note"] : []);
  expect(roles(events.ends)).toEqual(events.ends.length > 0 ? ["delivered"] : []);
});

test("every event that is about an op, a signal or a patch belongs to a kind, and so does every command", () => {
  const known = new Set(Object.values(KINDS).flatMap(({ commands, notes, ends }) => [...commands, ...notes, ...ends]));
  const wanted = EVENT_TABLE.filter(({ op, role }) => op !== null || role === "command").map(({ type }) => type);
  expect([...known].sort()).toEqual([...wanted].sort());
});
