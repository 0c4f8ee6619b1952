import type { TaskLimits, TaskRow } from "../../model/task.ts";

/** A task as the memory store keeps it. */
export type TaskRecord = { -readonly [K in keyof TaskRow]: TaskRow[K] } & {
  /** What its definition says; a task that became external by `completeLater` is not. */
  readonly external: boolean;
  readonly limits: TaskLimits;
  /** When its current attempt began; null before the first. */
  beganAt: number | null;
  /** For limits and fairness: its own. */
  readonly key: string | undefined;
  /** It waits for a place in its queue. */
  inLine: boolean;
  /** The call with a token that made it due again. */
  finishId: string | null;
};
