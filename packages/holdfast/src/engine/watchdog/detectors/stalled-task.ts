import { inputHash } from "../../../calls/input-hash.ts";
import { stalledTask } from "../../../model/decisions/watchdog.ts";
import type { Finding } from "../../../model/finding.ts";
import type { Task } from "../../../model/task.ts";
import { afterOf, type Detect, READ_MAX } from "./detector.ts";

/** Attempts of tasks that take too long and do not report. Those that are half as old are looked at, to know what they last reported. */
export const detectStalledTasks: Detect = async (sight, rule) => {
  const { store, namespace, sightings, now } = sight;
  const afterMs = afterOf(rule);
  const { list, seenAt } = await sight.heldTasks();
  const held = list
    .map((task) => {
      const { runId, seq, epoch } = task;
      return { runId, seq, epoch, begunAt: sightings.since(`task ${runId}/${seq}`, String(epoch), seenAt) };
    })
    .filter(({ begunAt }) => now - begunAt >= afterMs / 2)
    .sort((a, b) => a.begunAt - b.begunAt)
    .slice(0, READ_MAX);
  if (held.length === 0) return [];
  const keys = held.map(({ runId, seq }) => ({ runId, seq }));
  const { list: tasks, seenAt: reportedAt } = await sight.seen(await store.tasks.read({ namespace, tasks: keys }));
  const rows = await store.runs.read({ runs: held.map(({ runId }) => ({ namespace, runId })) });
  return held.flatMap(({ epoch, begunAt }, i): Finding[] => {
    const [task, run] = [tasks[i], rows[i]];
    if (!task || !run || task.epoch !== epoch) return [];
    const heardAt = sightings.since(`beat ${task.runId}/${task.seq}`, `${epoch}/${reported(task)}`, reportedAt);
    if (rule.workflow !== undefined && run.workflow !== rule.workflow) return [];
    const finding = stalledTask(task, run, { begunAt, heardAt }, now, afterMs);
    return finding ? [finding] : [];
  });
};

/** Changes with every report that says something new, and, if silence is limited, with every one. */
function reported({ details, expiresAt }: Task): string {
  return `${details === null ? "" : inputHash(details)}/${expiresAt}`;
}
