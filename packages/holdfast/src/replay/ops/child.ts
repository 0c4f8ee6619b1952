/**
 * `ctx.child`, `ctx.startChild`: another run, started by this one. Asking leaves nothing in history: the driver starts the run
 * under an id that follows from this run and the op, as often as it takes. That it was started, and how it ended, are events.
 */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { CHILD_DEPTH_MAX } from "../../model/child.ts";
import type { Payload } from "../../model/payload.ts";
import type { ChildHandle } from "../context/context.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import { type OpModule, quiet, rejectOp, withData } from "../op.ts";
import { makeChildHandle } from "./child-handle.ts";
import { type ChildOptions, resolveChildSpec } from "./child-options.ts";
import { ChildWork } from "./child-work.ts";
import { otherRunError } from "./other-run-error.ts";
import { PLAIN_OP } from "./plain-op.ts";
import { type ChildDefinition, checkedInput, keyFrom, requireChildDefinition } from "./start-options.ts";
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

  settle(op, { seq, type, payload, meta = {} }, host) {
    const work = op.child as ChildWork;
    if (type === "child_started") return work.started(meta.child, seq);
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

/** `ask` is called with the child, unless its input is refused. */
function withChild<T>(
  machine: MachineInside,
  call: string,
  { definition, input, options }: Wanted,
  byHandle: boolean,
  ask: (child: ChildWork) => Promise<T>,
): Promise<T> {
  machine.assertInTurn(call, definition?.name);
  requireChildDefinition(definition, call);
  const where = `child "${definition.name}"`;
  const spec = resolveChildSpec(definition, options, where);
  // At once: the code may change the object later.
  let keyed = spec;
  const encode = (): Payload => {
    const checked = checkedInput(definition, input);
    const key = spec.key ?? keyFrom(definition, checked);
    if (key !== spec.key) keyed = { ...spec, key };
    return machine.codec.encode(checked, `input of ${where}`);
  };
  return withData(encode, (payload) => {
    const deep = tooDeep(machine);
    return deep ? quiet(Promise.reject(deep)) : ask(new ChildWork(machine.run, keyed, payload, byHandle));
  });
}

interface Wanted {
  readonly definition: ChildDefinition;
  readonly input: unknown;
  readonly options: ChildOptions<never> | undefined;
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

export function askChild(...[machine, scope, definition, input, options]: ChildCall): Promise<unknown> {
  const undo = options?.compensate as Compensation<unknown> | undefined;
  return withChild(machine, "ctx.child", { definition, input, options }, false, (child) =>
    machine.ask(CHILD, definition.name, scope, { child, undo }),
  );
}

export function askStartChild(...[machine, scope, definition, input, options]: ChildCall): Promise<ChildHandle> {
  const undo = options?.compensate as Compensation<unknown> | undefined;
  return withChild(machine, "ctx.startChild", { definition, input, options }, true, (child) => {
    const result = machine.ask(CHILD, definition.name, scope, { child, undo });
    return makeChildHandle(machine, scope, definition, child, result);
  });
}
