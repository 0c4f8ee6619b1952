import type { Configuration } from "./configuration.ts";
import { Dice } from "./dice.ts";
import { QUEUES } from "./workload/task.ts";

/** What a worker can do. */
export interface Skills {
  readonly workflows: boolean;
  readonly tasks: boolean;
  /** It has the code of every other task only. */
  readonly half: boolean;
  readonly queues: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

const ALL_LABELS = { gpu: "a100", eu: "" };

/**
 * The skills of each worker: first those with workflows, some of which execute tasks too, then the helpers, which only execute
 * tasks. One of them can do every task: else some tasks would wait forever.
 */
export function crewOf({ seed, workers, helpers }: Configuration): readonly Skills[] {
  const expert = helpers > 0 ? workers : 0;
  return Array.from({ length: workers + helpers }, (_, i): Skills => {
    const dice = new Dice(`crew ${seed} ${i}`);
    const workflows = i < workers;
    if (i === expert) return { workflows, tasks: true, half: false, queues: QUEUES, labels: ALL_LABELS };
    const queues = QUEUES.filter((queue) => (workflows && queue === "default") || dice.chance(0.6));
    return {
      workflows,
      tasks: !workflows || dice.chance(0.6),
      half: dice.chance(0.3),
      queues: queues.length === 0 ? ["default"] : queues,
      labels: dice.pick<Skills["labels"]>([{}, { gpu: "h100" }, { eu: "" }, ALL_LABELS]),
    };
  });
}

/** The tasks that such a worker has the code of. */
export function knownTasks({ tasks, half }: Skills, names: readonly string[]): readonly string[] {
  if (!tasks) return [];
  return half ? names.filter((name) => Number(name.slice(1)) % 2 === 0) : names;
}
