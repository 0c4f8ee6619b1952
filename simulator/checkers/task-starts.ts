import type { Checker, Found } from "../evidence.ts";

/**
 * An attempt of a task begins after the task is durable, once for each time that a worker takes it, on a worker that can do it
 * and whose lease runs. A task is never taken again once it has a result.
 */
export const taskStarts: Checker = {
  name: "task-starts",
  needs: ["executions", "taskChanges"],
  check({ executions = [], taskChanges = [] }) {
    const found: Found[] = [];
    const begun = new Set<string>();
    for (const { runId, seq, epoch, op, process, at, durable, hold, trespass } of executions) {
      const fault = (text: string): void =>
        void found.push({ runId, text: `"${op}" (${seq}.${epoch}) began on ${process} at ${at.toFixed(1)}: ${text}` });
      if (!durable || !hold) fault("it was not durable");
      if (trespass !== undefined) fault(trespass);
      const key = `${runId}/${seq}/${epoch}`;
      if (begun.has(key)) fault("a second time under the same epoch");
      begun.add(key);
    }
    for (const { runId, seq, op, at, before, after, ended } of taskChanges)
      if (ended && before && after?.heldBy && after.epoch !== before.epoch)
        found.push({ runId, text: `"${op}" (${seq}) was taken at ${at.toFixed(1)}, although it has a result` });
    return found;
  },
};
