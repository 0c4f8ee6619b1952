import type { Mutation } from "./mutation.ts";

/** Of moves between stores, and of what deletes runs. */
export const MOVE_MUTATIONS: readonly Mutation[] = [
  {
    name: "forgets that a run has arrived",
    file: "model/decisions/arrival.ts",
    find: '  if (at.noted && at.noted.epoch >= run.epoch) return at.noted.refused ?? "arrived";\n',
    replace: "",
    caughtBy: "moves",
  },
  {
    name: "forgets what has left before it has arrived",
    file: "client/transfers/move-runs.ts",
    find: "    const { outcome } = await this.#target.untilNotBusy((store) => store.transfers.arrive({ image }));\n",
    replace:
      "    await this.#core.call((store) => store.transfers.confirm(source));\n    const { outcome } = await this.#target.untilNotBusy((store) => store.transfers.arrive({ image }));\n",
    caughtBy: "moves",
  },
  {
    name: "leaves the messages of a run behind that moves",
    file: "client/transfers/run-images.ts",
    find: "    events,\n    messages,\n    rest:",
    replace: "    events,\n    messages: [],\n    rest:",
    caughtBy: "signals",
  },
  {
    name: "deletes what has just ended",
    file: "engine/lead/retention-duty.ts",
    find: "endedBefore: now - keptMs",
    replace: "endedBefore: now - keptMs / 100",
    caughtBy: "retention",
  },
];
