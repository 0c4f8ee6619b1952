/**
 * `ctx.retired`: marks the place of a step that was removed. Its events in history are skipped, and it never wakes the code.
 * The fact that the code continues without it is recorded: earlier code may have had it in flight, and nothing else would
 * show that.
 */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { UPDATE_PREFIX } from "../../model/ids.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { OpModule } from "../op.ts";
import { PLAIN_OP } from "./plain-op.ts";

export const RETIRED: OpModule = {
  ...PLAIN_OP,
  kind: "retired",
  events: { commands: ["op_retired"], notes: [], ends: [] },
  evenCanceled: true,
  leavesRecord: false,
  wakes: false,
  rest: "sleeping",
  asked: (op, _name, _init, host) => host.retire(op),
  fits: () => true,
  settle: (op) => op.resolve(undefined),
  note: () => true,
};

export function retire(machine: MachineInside, scope: Scope, name: string): void {
  machine.assertInTurn("ctx.retired", name);
  if (String(name).startsWith(UPDATE_PREFIX)) throw keepHandler(name);
  void machine.ask(RETIRED, name, scope, {});
}

/** What its handler has done is in history, so replay needs it. */
function keepHandler(name: string): HoldfastError {
  const update = name.slice(UPDATE_PREFIX.length);
  const message = `ctx.retired(${JSON.stringify(name)}): the handler of an update cannot be retired, because runs that have accepted "${update}" repeat it. Keep it with ctx.on, and refuse new updates with a validate that throws.`;
  return new HoldfastError("invalid_option", message, { data: { name } });
}
