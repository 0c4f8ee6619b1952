import type { Mutation } from "./mutation.ts";

export const WATCHDOG_MUTATIONS: readonly Mutation[] = [
  {
    name: "restarts a run without taking the epoch on",
    file: "memory/runs/interventions.ts",
    find: "  giveBack(state, row, now);\n",
    replace: "  giveBack(state, row, now);\n  row.epoch -= 1;\n",
    caughtBy: "watchdog",
  },
  {
    name: "restarts a run without recording it",
    file: "memory/runs/interventions.ts",
    find: "  giveBack(state, row, now);\n  appendNote(state, row, params.event, now);\n",
    replace: "  giveBack(state, row, now);\n",
    caughtBy: "watchdog",
  },
  {
    name: "restarts a run that has moved on since it was first seen",
    file: "engine/watchdog/sightings.ts",
    find: "known?.mark === mark ? known.since : now",
    replace: "known ? known.since : now",
    caughtBy: "watchdog",
  },
  {
    name: "acts although the rule is on trial",
    file: "engine/watchdog/watchdog.ts",
    find: "    if (dryRun) {\n",
    replace: "    if (dryRun && !finding.run) {\n",
    caughtBy: "watchdog",
  },
  {
    name: "cancels a run that was taken on since it was found",
    file: "engine/watchdog/actions.ts",
    find: "      epoch,\n      ...messageFrom({ by: WATCHDOG, reason }),\n",
    replace: "      ...messageFrom({ by: WATCHDOG, reason }),\n",
    caughtBy: "watchdog",
  },
  {
    name: "cancels a run without saying who it was",
    file: "engine/watchdog/actions.ts",
    find: "      epoch,\n      ...messageFrom({ by: WATCHDOG, reason }),\n",
    replace: "      epoch,\n      ...messageFrom({ reason }),\n",
    caughtBy: "watchdog",
  },
  {
    name: "ends the attempt of a task without telling its run",
    file: "engine/watchdog/actions.ts",
    find: "const { outcomes } = await store.inbox.deliver({ messages: [note], inboxMax: limits.inboxMax });",
    replace: 'const outcomes = [{ outcome: note.name === "" ? "busy" : "done" }];',
    caughtBy: "watchdog",
  },
];
