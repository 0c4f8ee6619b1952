/**
 * `ctx.retired`: marks the place of a step that was removed. Its events in history are skipped, and it never wakes the code.
 * The fact that the code continues without it is recorded: earlier code may have had it in flight, and nothing else would
 * show that.
 */
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
  void machine.ask(RETIRED, name, scope, {});
}
