/**
 * `ctx.task`: work that another worker does, or someone with a token. The run records what it has scheduled; the commit with
 * that event creates the task, and its result comes back as an event.
 */
import { fromErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { EventDraft, EventMeta } from "../../model/event.ts";
import type { Payload } from "../../model/payload.ts";
import { traceOf } from "../../model/run-seed.ts";
import type { TaskSpec } from "../../model/task.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import { type OpModule, rejectOp } from "../op.ts";
import { PLAIN_OP } from "./plain-op.ts";
import type { Compensation } from "./step-options.ts";
import { isTask, resolveTaskSpec, type TaskCallOptions, type TaskDefinition } from "./task-options.ts";
import { TaskWork } from "./task-work.ts";

const LATER = { later: true } as const;

export const TASK: OpModule = {
  ...PLAIN_OP,
  kind: "task",
  events: {
    commands: ["task_scheduled"],
    notes: ["op_rescheduled", "op_canceled"],
    ends: ["task_completed", "task_failed"],
  },
  rest: "waiting",

  asked(op, name, { undo }, host) {
    const work = op.task as TaskWork;
    const type = "task_scheduled";
    const draft: EventDraft = { type, op: op.id };
    try {
      // Made when it is recorded: a fork or a retry that comes before it has lost the locks only then.
      const meta = (): EventMeta => ({ task: work.spec, ...(host.regaining ? LATER : {}), ...op.scope.branch });
      const scheduled = (): EventDraft => ({ type, op: op.id, payload: work.input(), meta: meta() });
      const event = host.command(draft, true, scheduled, () => void work.input());
      // None if the code has diverged: then nothing happens any more.
      if (event) work.scheduled(event);
    } catch (error) {
      // The input was refused.
      host.release(op);
      return rejectOp(op, error);
    }
    host.noteTask(op.id, work);
    if (undo) host.addUndo(name, op, undo);
  },

  fits: (_op, type) => type === "task_completed" || type === "task_failed",

  settle(op, { type, payload, meta }, host) {
    if (type === "task_completed") {
      const result = payload === undefined ? undefined : host.codec.decode(payload);
      host.learned(op, "completed", result);
      op.task?.done();
      op.resolve(result);
      return;
    }
    host.learned(op, meta?.neverBegan ? "never_began" : meta?.unknown ? "unknown" : "failed", undefined);
    const error = meta?.error;
    rejectOp(op, error ? fromErrorRecord(error) : new HoldfastError("task_failed", `task "${op.id}" failed`));
  },

  note(op, event) {
    if (event.type !== "op_rescheduled") return false;
    op.task?.rescheduled(event.seq);
    op.gate = event.seq;
    return true;
  },
};

function checked({ checkInput }: TaskDefinition, input: unknown): unknown {
  return checkInput ? checkInput(input) : input;
}

export function askTask(
  machine: MachineInside,
  scope: Scope,
  definition: TaskDefinition,
  input: unknown,
  options: TaskCallOptions | undefined,
): Promise<unknown> {
  machine.assertInTurn("ctx.task", definition?.name);
  if (!isTask(definition))
    throw new HoldfastError(
      "invalid_option",
      `ctx.task: the first argument is ${shownValue(definition)}, not a task. Make one with task("send-mail", fn).`,
    );
  const { name } = definition;
  const where = `task "${name}"`;
  const spec = resolveTaskSpec(definition, options, where);
  const { codec } = machine;
  // Only what is scheduled for the first time is checked and stored.
  const payload = (): Payload => codec.encode(checked(definition, input), `input of ${where}`);
  const undo = options?.compensate as Compensation<unknown> | undefined;
  return machine.ask(TASK, name, scope, { task: new TaskWork(withTrace(spec, machine.run.seed), payload), undo });
}

function withTrace(spec: TaskSpec, seed: string): TaskSpec {
  const trace = traceOf(seed);
  return trace === undefined ? spec : { ...spec, trace };
}
