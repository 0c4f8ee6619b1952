/**
 * `ctx.step`: work with effects. The driver executes it, as often as its options allow, and delivers its result. What it
 * learns about attempts is recorded as notes, so that their number survives crashes.
 */
import { fromErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { Scope } from "../context/scope.ts";
import type { MachineInside } from "../machine-inside.ts";
import { type OpModule, rejectOp } from "../op.ts";
import { PLAIN_OP } from "./plain-op.ts";
import { type Compensation, DEFAULT_OPTIONS, resolveStepOptions, type StepOptions } from "./step-options.ts";
import { StepWork } from "./step-work.ts";

export const STEP: OpModule = {
  ...PLAIN_OP,
  kind: "step",
  events: {
    commands: [],
    notes: ["step_started", "step_attempt_failed"],
    ends: ["step_completed", "step_failed"],
  },
  rest: "sleeping",

  asked(op, name, { undo }, host) {
    const { step } = op;
    // A step that may run at most once and began in an earlier run attempt counts as cut off: its result is no longer
    // awaited.
    if (step?.options.onCrash === "fail" && host.hasBegun(op.id)) step.countAsCutOff();
    host.hand(op);
    if (undo) host.addUndo(name, op, undo);
  },

  fits: (_op, type) => type === "step_completed" || type === "step_failed",

  settle(op, { type, payload, meta }, host) {
    if (type === "step_completed") {
      const result = payload === undefined ? undefined : host.codec.decode(payload);
      host.learned(op, "completed", result);
      op.resolve(result);
      return;
    }
    host.learned(op, meta?.neverBegan ? "never_began" : meta?.unknown ? "unknown" : "failed", undefined);
    const error = meta?.error;
    rejectOp(op, error ? fromErrorRecord(error) : new HoldfastError("step_failed", `step "${op.id}" failed`));
  },

  note(op, event) {
    const attempt = event.meta?.attempt ?? 1;
    if (event.type === "step_started") op.step?.noteStarted(attempt, event.seq);
    else op.step?.noteFailed(attempt, event.meta?.retryAt);
    // A later attempt may start only when this is durable: attempt counts survive crashes.
    op.gate = event.seq;
    return true;
  },
};

export function askStep(
  machine: MachineInside,
  scope: Scope,
  name: string,
  fn: StepWork["fn"],
  options: StepOptions<unknown> | undefined,
): Promise<unknown> {
  const resolved =
    options === undefined ? DEFAULT_OPTIONS : resolveStepOptions(options as StepOptions<never>, `step "${name}"`);
  const undo = options?.compensate as Compensation<unknown> | undefined;
  return machine.ask(STEP, name, scope, { step: new StepWork(fn, resolved), undo });
}
