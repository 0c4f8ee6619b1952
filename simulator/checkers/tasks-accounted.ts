import type { Checker, Found } from "../evidence.ts";
import type { TaskAccount } from "../task-evidence.ts";

/**
 * A task that an open run waits for is in exactly one place: it exists, or its result is unread. A run that has ended has no
 * tasks but dead letters.
 */
export const tasksAccounted: Checker = {
  name: "tasks-accounted",
  needs: ["taskAccounts"],
  check: ({ taskAccounts = [] }) =>
    taskAccounts.map(
      (account): Found => ({ runId: account.runId, text: `${describe(account)} at ${account.at.toFixed(1)}` }),
    ),
};

function describe({ op, seq, closed, live, unread, unasked }: TaskAccount): string {
  const task = `task "${op}" (${seq})`;
  if (closed) return `the run has ended, but ${task} exists`;
  if (unasked) return `${task} exists, but the run does not wait for it`;
  if (live + unread === 0) return `${task} is awaited, but neither exists nor has a result`;
  return `${task} exists ${live} times and has ${unread} unread results`;
}
