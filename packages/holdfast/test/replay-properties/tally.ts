import type { LiveRun } from "./live-run.ts";
import { nodesOf, type Program } from "./program.ts";

const EXPECTED = [
  ...["step_started", "step_attempt_failed", "step_completed", "step_failed", "timer_created", "timer_fired"],
  ...["signal_received", "cancel_requested", "deadline_reached", "side_effect", "patched", "attributes_set"],
  ...["step", "sleep", "receive", "sideEffect", "look", "set", "retired", "compensate", "onAbort", "add", "throw"],
  ...["continueAsNew", "native", "parallel", "race", "fork", "begin", "join", "hop", "loop", "ifOdd", "patched", "try"],
  ...["uncancelable", "completed", "continued", "failed", "failed compensated", "failed compensation_failed", "open"],
  ...["canceled, then completed", "an outcome nobody knows", "a message after the end", "an abort that was heard"],
  ...["two things in one tick", "a step to be undone that was no longer wanted"],
];

/** What the generated cases have reached. */
export class Tally {
  readonly #seen = new Set<string>();

  add(program: Program, live: LiveRun): void {
    const { machine, history } = live;
    const { outcome, cancelCause } = machine;
    for (const { type, meta } of history) {
      this.#seen.add(type);
      if (meta?.unknown) this.#seen.add("an outcome nobody knows");
    }
    for (const node of nodesOf(program.body)) {
      this.#seen.add(node.type);
      const heard = node.type === "onAbort" && live.log.some((line) => line.startsWith(`${node.id}=`));
      if (heard) this.#seen.add("an abort that was heard");
    }
    this.#seen.add(outcome?.type ?? "open");
    if (outcome?.type === "failed" && outcome.compensation) this.#seen.add(`failed ${outcome.compensation}`);
    if (outcome?.type === "completed" && cancelCause) this.#seen.add("canceled, then completed");
    if (live.cuts.some((cut) => !cut.resting)) this.#seen.add("two things in one tick");
    if (live.cuts.some((cut) => cut.snapshot.state.includes("closing true")))
      this.#seen.add("a step to be undone that was no longer wanted");
    const ended = live.cuts.filter((cut) => !cut.snapshot.state.includes("outcome none"));
    if (ended.length > 1) this.#seen.add("a message after the end");
  }

  neverSeen(): string[] {
    return EXPECTED.filter((what) => !this.#seen.has(what));
  }
}
