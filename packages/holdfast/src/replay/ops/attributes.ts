/** `ctx.set`: search attributes, written to the run row by the commit that contains their event. */
import { assertOwnAttributes, limitAttributes, storedAttributes } from "../../errors/attribute-checks.ts";
import type { Attributes } from "../../model/event.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { OpEvents } from "../op.ts";

export const ATTRIBUTE_EVENTS: OpEvents = { commands: ["attributes_set"], notes: [], ends: [] };

export function setAttributes(machine: MachineInside, attributes: Attributes): void {
  machine.assertInTurn("ctx.set");
  assertOwnAttributes(attributes, "ctx.set");
  const stored = storedAttributes(attributes);
  // What was recorded stays valid, whatever the limits are now.
  if (!machine.turnIsRecorded) limitAttributes(machine.attributesWith(stored), "ctx.set");
  const event = machine.command({ type: "attributes_set", op: null, meta: { attributes: stored } });
  if (event && event.seq > machine.recorded.length) machine.setAttributes(stored);
}
