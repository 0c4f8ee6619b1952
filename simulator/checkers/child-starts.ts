import { jsonCodec } from "../../packages/holdfast/src/codec/json-codec.ts";
import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import type { Run } from "../../packages/holdfast/src/model/run.ts";
import type { Checker, Found } from "../evidence.ts";
import type { ProgramInput } from "../workload/program.ts";

/**
 * A child is started once for each time that its parent asks for it, by a parent that has not ended, and after everything that
 * the parent's code had seen is durable.
 */
export const childStarts: Checker = {
  name: "child-starts",
  needs: ["births"],
  check({ runs, births = [] }) {
    const found: Found[] = [];
    const rows = new Map(runs.map((one) => [one.run.runId, one]));
    const started = new Map<string, number>();
    for (const { runId, parentRunId, parentClosed, parentEvents, at } of births) {
      const fault = (text: string): void => void found.push({ runId, text: `${text} (at ${at.toFixed(1)})` });
      const run = rows.get(runId)?.run as Run;
      const { by, seen = 0, number } = jsonCodec.decode(run.input) as ProgramInput;
      if (parentClosed) fault(`it was started, but its parent ${parentRunId} had ended`);
      if (seen > parentEvents)
        fault(`it was started when its parent's code had seen ${seen} events, but only ${parentEvents} were durable`);
      const op = run.lineage?.op ?? null;
      const key = `${parentRunId} ${op ?? `${by} ${number}`}`;
      const count = (started.get(key) ?? 0) + 1;
      started.set(key, count);
      const most = 1 + replacements(rows.get(parentRunId)?.history ?? [], op);
      if (count > most) fault(`"${by}" of ${parentRunId} has started ${count} runs, but asked for ${most}`);
    }
    for (const { run, history } of runs)
      for (const { type, op, meta } of history) {
        if (type !== "child_started") continue;
        const lineage = rows.get(meta?.child?.runId ?? "")?.run.lineage;
        if (lineage?.parent.runId !== run.runId || lineage.op !== op)
          found.push({ runId: run.runId, text: `"${op}" was started, but ${meta?.child?.runId} is not that child` });
      }
    return found;
  },
};

/** How many runs have taken the place of an earlier child of that op. */
function replacements(history: readonly HistoryEvent[], op: string | null): number {
  if (op === null) return 0;
  const generations = history.filter((event) => event.type === "op_rescheduled" && event.op === op);
  return new Set(generations.map(({ meta }) => meta?.attempt).filter((attempt) => attempt !== undefined)).size;
}
