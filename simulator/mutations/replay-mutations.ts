import type { Mutation } from "./mutation.ts";

export const REPLAY_MUTATIONS: readonly Mutation[] = [
  {
    name: "resumes a step at the wrong attempt",
    file: "replay/ops/step.ts",
    find: "op.step?.noteFailed(attempt, event.meta?.retryAt);",
    replace: "op.step?.noteFailed(attempt + 1, event.meta?.retryAt);",
    caughtBy: "attempts",
  },
  {
    name: "starts the next attempt before the failure of the last is durable",
    file: "replay/ops/step.ts",
    find: "    // A later attempt may start only when this is durable: attempt counts survive crashes.\n    op.gate = event.seq;\n",
    replace: "",
    caughtBy: "attempts",
  },
  {
    name: "goes on after a cancel as if nothing had been said",
    file: "replay/run-machine.ts",
    find: "    cancelScope(this, this.root, error);\n",
    replace: "",
    caughtBy: "canceled-means-canceled",
  },
  {
    name: "undoes in the order in which things were done",
    file: "replay/ops/compensation.ts",
    find: "for (const entry of undone.reverse()) {",
    replace: "for (const entry of undone) {",
    caughtBy: "compensation",
  },
  {
    name: "undoes what never began",
    file: "replay/ops/compensation.ts",
    find: "return !neverBegan && (outcome !== undefined || (op !== undefined && wasBegun(op)));",
    replace: "return true;",
    caughtBy: "compensation",
  },
  {
    name: "does not undo what a crash has cut off",
    file: "replay/ops/compensation.ts",
    find: "return !neverBegan && (outcome !== undefined || (op !== undefined && wasBegun(op)));",
    replace: 'return !neverBegan && outcome !== undefined && outcome !== "unknown";',
    caughtBy: "undone-as-done",
  },
  {
    name: "loses signals that nobody has received when it continues as new",
    file: "replay/ops/signal-buffer.ts",
    find: "    if (!this.#signals) return [];\n    return [...this.#signals]",
    replace: "    if (!this.#signals || codec) return [];\n    return [...this.#signals]",
    caughtBy: "outputs",
  },
  {
    name: "reads a flag again on replay",
    file: "replay/ops/side-effect.ts",
    find: "return event?.payload === undefined ? undefined : machine.codec.decode(event.payload);",
    replace:
      "return machine.replaying ? fn() : event?.payload === undefined ? undefined : machine.codec.decode(event.payload);",
    caughtBy: "outputs",
  },
  {
    name: "stamps events with whatever time it is",
    file: "replay/unwritten.ts",
    find: "placed(draft, this.#nextSeq++, this.#lastAt)",
    replace: "placed(draft, this.#nextSeq++, at)",
    caughtBy: "history-unbroken",
  },
  {
    name: "takes new code for new in a turn that was finished before",
    file: "replay/ops/patch.ts",
    find: "    if (this.#machine.turnIsRecorded && !this.#machine.repeating) return false;\n",
    replace: "",
    caughtBy: "patches",
  },
  {
    name: "keeps a signal that was given back from a receive that waits for it",
    file: "replay/context/branches.ts",
    find: "  handOn(machine);\n",
    replace: "",
    caughtBy: "outputs",
  },
];
