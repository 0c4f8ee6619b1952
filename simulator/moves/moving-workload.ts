import type { Configuration } from "../configuration.ts";

/** What ties a run to others keeps it from leaving, and the simulator has no clerk for tasks here. */
const LEFT_OUT = [
  "task",
  "approval",
  "child",
  "family",
  "spawn",
  "post",
  "notice",
  "recall",
  "sequel",
  "condition",
  "lock",
];

/** The same seed with runs that can move: a few of them, that wait often, and nothing else that happens to them. */
export function movingWorkload(configuration: Configuration): Configuration {
  const { workload, trouble, moves } = configuration;
  const none = Object.fromEntries(LEFT_OUT.map((kind) => [kind, 0]));
  const opWeights = { ...workload.opWeights, ...none, sleep: 4, receive: 2, mailbox: 2 };
  return {
    ...configuration,
    workload: {
      ...workload,
      runs: moves.runs,
      workflows: Math.min(workload.workflows, 4),
      opWeights,
      restarts: 0,
      retries: 0,
      talks: false,
      operatorMs: 0,
      forksMs: 0,
      lockLimit: 0,
    },
    limits: { keys: 0, changeMs: 0 },
    // Stores keep one time: what runs take along has times.
    trouble: { ...trouble, weights: { ...trouble.weights, storeJump: 0, deploy: 0, newVersion: 0, killClient: 0 } },
  };
}
