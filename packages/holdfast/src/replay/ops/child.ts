/**
 * `ctx.child`, `ctx.startChild`: another run, started by this one. Asking leaves nothing in history: the driver starts the run
 * under an id that follows from this run and the op, as often as it takes. That it was started, and how it ended, are events.
 */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { CHILD_DEPTH_MAX } from "../../model/child.ts";
import type { ChildHandle } from "../context/context.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import { type OpModule, quiet, rejectOp } from "../op.ts";
import { makeChildHandle } from "./child-handle.ts";
import { type ChildOptions, resolveChildSpec } from "./child-options.ts";
import { ChildWork } from "./child-work.ts";
import { otherRunError } from "./other-run-error.ts";
import { PLAIN_OP } from "./plain-op.ts";
import { type ChildDefinition, checkedInput, requireChildDefinition } from "./start-options.ts";
import type { Compensation } from "./step-options.ts";

export const CHILD: OpModule = {
  ...PLAIN_OP,
  kind: "child",
  events: {
    commands: [],
    notes: ["op_rescheduled", "op_canceled"],
    ends: ["child_started", "child_completed", "child_failed"],
  },
  rest: "waiting",

  asked(op, name, { undo }, host) {
    op.child?.asked(op.id);
    host.handCall(op);
    if (undo) host.addUndo(name, op, undo);
  },

  fits: (_op, type) => type === "child_started" || type === "child_completed" || type === "child_failed",

  settle(op, { type, payload, meta = {} }, host) {
    const work = op.child as ChildWork;
    if (type === "child_started") return work.started(meta.child);
    if (type === "child_completed" || meta.status !== undefined) work.tellStarted();
    work.done();
    if (type === "child_completed") {
      const result = payload === undefined ? undefined : host.codec.decode(payload);
      host.learned(op, "completed", result);
      op.resolve(result);
      return;
    }
    host.learned(op, meta.neverBegan ? "never_began" : "failed", undefined);
    rejectOp(op, otherRunError(meta, { ...work.identity, op: op.id }));
  },

  note(op, event) {
    if (event.type !== "op_rescheduled") return false;
    op.child?.rescheduled(event.meta?.attempt);
    op.gate = event.seq;
    return true;
  },
};

function newChild(
  machine: MachineInside,
  call: string,
  definition: ChildDefinition,
  input: unknown,
  options: ChildOptions<never> | undefined,
  byHandle: boolean,
): ChildWork {
  machine.assertInTurn(call, definition?.name);
  requireChildDefinition(definition, call);
  const where = `child "${definition.name}"`;
  const spec = resolveChildSpec(definition, options, where);
  const checked = checkedInput(definition, input);
  // At once: the code may change the object later.
  return new ChildWork(machine.run, spec, machine.codec.encode(checked, `input of ${where}`), byHandle);
}

/** Why this run may have no children. */
function tooDeep({ run }: MachineInside): HoldfastError | undefined {
  const depth = run.lineage?.depth ?? 0;
  if (depth < CHILD_DEPTH_MAX) return undefined;
  const message = `Run "${run.id}" is ${depth} levels below the run that everything began with, the most that is allowed: it cannot start children.`;
  return new HoldfastError("child_depth_exceeded", message, { data: { id: run.id, depth } });
}

type ChildCall = [
  machine: MachineInside,
  scope: Scope,
  definition: ChildDefinition,
  input: unknown,
  options: ChildOptions<never> | undefined,
];

/** Asks for the child; `result` is the promise of its output. Rejects if the run may have none. */
function ask(call: string, byHandle: boolean, ...[machine, scope, definition, input, options]: ChildCall) {
  const child = newChild(machine, call, definition, input, options, byHandle);
  const deep = tooDeep(machine);
  const undo = options?.compensate as Compensation<unknown> | undefined;
  const result = deep
    ? quiet(Promise.reject<unknown>(deep))
    : machine.ask(CHILD, definition.name, scope, { child, undo });
  return { child, result };
}

export function askChild(...asked: ChildCall): Promise<unknown> {
  return ask("ctx.child", false, ...asked).result;
}

export function askStartChild(...asked: ChildCall): Promise<ChildHandle> {
  const [machine, scope, definition] = asked;
  const { child, result } = ask("ctx.startChild", true, ...asked);
  return makeChildHandle(machine, scope, definition, child, result);
}
