import type { Mutation } from "./mutation.ts";

export const OPERATION_MUTATIONS: readonly Mutation[] = [
  {
    name: "resumes a run without recording it",
    file: "memory/runs/parking.ts",
    find: "  appendNote(state, row, event, now);\n  setAvailable(state, row, dueAt, now);\n",
    replace: "  setAvailable(state, row, dueAt, now);\n",
    caughtBy: "operations",
  },
  {
    name: "does not read a resume behind a pause",
    file: "engine/execute/pausing.ts",
    find: 'draft.type === "pause_requested" ? !machine.pausing : machine.pausing;',
    replace: 'draft.type === "pause_requested" && !machine.pausing;',
    caughtBy: "operations",
  },
  {
    name: "parks a paused run although a resume is unread",
    file: "engine/execute/pausing.ts",
    find: "paused: true, unlessBehind: true };",
    replace: "paused: true };",
    caughtBy: "operations",
  },
  {
    name: "begins new attempts in a run that is pausing",
    file: "engine/steps/step-board.ts",
    find: "this.#machine.pausing || this.#machine.regaining",
    replace: "this.#machine.regaining",
    caughtBy: "operations",
  },
  {
    name: "copies an event too many into a fork",
    file: "memory/runs/forks.ts",
    find: ".slice(0, copied));",
    replace: ".slice(0, copied + 1));",
    caughtBy: "forks",
  },
  {
    name: "forks a run behind an op that was undone",
    file: "client/fork-plan.ts",
    find: "  requireNothingUndone(origin, prefix.length);\n",
    replace: "",
    caughtBy: "operations",
  },
];
