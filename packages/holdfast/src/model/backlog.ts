/** What is due in a namespace and not in progress. Kinds of which nothing is due are left out. */
export interface Backlog {
  /** By the store's clock. */
  readonly now: number;
  /** By queue, workflow and version. */
  readonly runs: readonly RunBacklog[];
  /** By queue, name and required labels. */
  readonly tasks: readonly TaskBacklog[];
}

/** What is due in one queue. */
export interface DueCount {
  readonly queue: string;
  /** Counted no further than the caller has asked. */
  readonly waiting: number;
  readonly oldestDueAt: number;
  /** Those of them that have seen too many deaths of workers. */
  readonly suspects: number;
}

/** Runs of one workflow version in one queue. */
export interface RunBacklog extends DueCount {
  readonly workflow: string;
  readonly version: string;
  /** Those of them that sleep although their time came too long ago. */
  readonly late: number;
  /** Since when the first of those that sleep has been due; null if none sleeps. */
  readonly timerDueAt: number | null;
}

/** Tasks of one name in one queue, with the same labels. */
export interface TaskBacklog extends DueCount {
  readonly name: string;
  readonly requires: readonly string[];
}

/** The same of one priority and of suspects or others, as a store counts it. */
export type LaneBacklog<K extends object> = K & Omit<RunBacklog, "queue" | "workflow" | "version">;

/** What runs are counted by. */
export type RunKind = Pick<RunBacklog, "queue" | "workflow" | "version">;
/** What tasks are counted by. */
export type TaskKind = Pick<TaskBacklog, "queue" | "name" | "requires">;

/** What a store has counted, by kind, in order; nothing is counted further than `atMost`. */
export function gatherBacklog(
  now: number,
  atMost: number,
  runs: readonly LaneBacklog<RunKind>[],
  tasks: readonly LaneBacklog<TaskKind>[],
): Backlog {
  return {
    now,
    runs: gathered(runs, ({ queue, workflow, version }) => [queue, workflow, version], atMost),
    tasks: gathered(tasks, ({ queue, name, requires }) => [queue, name, ...requires], atMost).map(
      ({ late: _late, timerDueAt: _timerDueAt, ...task }) => task,
    ),
  };
}

function gathered<K extends object>(
  lanes: readonly LaneBacklog<K>[],
  kindOf: (lane: LaneBacklog<K>) => readonly string[],
  atMost: number,
): LaneBacklog<K>[] {
  const found = new Map<string, LaneBacklog<K>>();
  for (const lane of lanes) {
    if (lane.waiting === 0) continue;
    const kind = JSON.stringify(kindOf(lane));
    const known = found.get(kind);
    const timers = [known?.timerDueAt ?? null, lane.timerDueAt].filter((at) => at !== null);
    found.set(kind, {
      ...lane,
      waiting: Math.min(atMost, (known?.waiting ?? 0) + lane.waiting),
      suspects: Math.min(atMost, (known?.suspects ?? 0) + lane.suspects),
      late: Math.min(atMost, (known?.late ?? 0) + lane.late),
      oldestDueAt: Math.min(known?.oldestDueAt ?? lane.oldestDueAt, lane.oldestDueAt),
      timerDueAt: timers.length === 0 ? null : Math.min(...timers),
    });
  }
  return [...found.keys()].sort().map((kind) => found.get(kind) as LaneBacklog<K>);
}
