import { type Backlog, gatherBacklog } from "../../model/backlog.ts";
import { isDue } from "../../model/decisions/due-time.ts";
import type { BacklogParams } from "../../ports/store.ts";
import type { MemoryState } from "../state.ts";

/** Something that is due. */
interface DueEntry {
  readonly at: number;
  readonly suspect: boolean;
  readonly sleeping: boolean;
}

export function readBacklog(state: MemoryState, params: BacklogParams, now: number): Backlog {
  const { namespace, atMost } = params;
  const runs = [...state.runs.values()]
    .filter((row) => row.namespace === namespace && isDue(row.availableAt, now) && !state.inLine.has(`${row.runId}/0`))
    .map(({ queue, workflow, version, priority, availableAt, suspect, status }) => ({
      kind: { queue, workflow, version },
      priority,
      entry: { at: availableAt as number, suspect, sleeping: status === "sleeping" },
    }));
  const tasks = [...state.tasks.values()]
    .filter((task) => task.namespace === namespace && isDue(task.availableAt, now) && !task.inLine)
    .map(({ queue, name, requires, priority, availableAt, suspect }) => ({
      kind: { queue, name, requires },
      priority,
      entry: { at: availableAt as number, suspect, sleeping: false },
    }));
  return gatherBacklog(now, atMost, lanesOf(runs, params, now), lanesOf(tasks, params, now));
}

interface Found<K extends object> {
  readonly kind: K;
  readonly priority: number;
  readonly entry: DueEntry;
}

function lanesOf<K extends object>(found: readonly Found<K>[], { atMost, lateMs }: BacklogParams, now: number) {
  const lanes = new Map<string, Found<K>[]>();
  for (const one of found) {
    const lane = JSON.stringify([Object.values(one.kind), one.priority, one.entry.suspect]);
    lanes.set(lane, [...(lanes.get(lane) ?? []), one]);
  }
  return [...lanes.values()].map((lane) => {
    const read = lane.sort((a, b) => a.entry.at - b.entry.at).slice(0, atMost);
    const timers = read.filter(({ entry }) => entry.sleeping).map(({ entry }) => entry.at);
    return {
      ...(lane[0] as Found<K>).kind,
      waiting: read.length,
      oldestDueAt: (read[0] as Found<K>).entry.at,
      suspects: read.filter(({ entry }) => entry.suspect).length,
      late: timers.filter((at) => at <= now - lateMs).length,
      timerDueAt: timers[0] ?? null,
    };
  });
}
