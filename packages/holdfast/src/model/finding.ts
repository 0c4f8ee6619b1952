/** What the watchdog looks for. */
export const DETECTORS = [
  "stalled_run",
  "stalled_task",
  "circle",
  "worker",
  "store",
  "backlog",
  "crash_loop",
  "unserved_version",
] as const;

/** The name of what the watchdog looks for. */
export type Detector = (typeof DETECTORS)[number];

/** What the watchdog can do about it. */
export const WATCHDOG_ACTIONS = ["report", "alert", "timeout_task", "cancel", "restart"] as const;

/** The name of what the watchdog does. */
export type WatchdogAction = (typeof WATCHDOG_ACTIONS)[number];

/** The run that a finding is about, as it was when it was found. */
export interface FoundRun {
  readonly id: string;
  readonly runId: string;
  readonly workflow: string;
  readonly epoch: number;
  readonly commit: number;
  readonly eventCount: number;
}

/** An attempt of a task that a finding is about. */
export interface FoundTask {
  readonly seq: number;
  readonly op: string;
  readonly epoch: number;
  readonly attempt: number;
}

/** Something that is wrong. */
export interface Finding {
  readonly detect: Detector;
  /** The same in every pass that finds it, and another once it has come right in between. */
  readonly key: string;
  /** For the person on call. */
  readonly text: string;
  /** Since when, by the store's clock. */
  readonly since: number;
  readonly run?: FoundRun;
  readonly task?: FoundTask;
  readonly workflow?: string;
  readonly version?: string;
  readonly queue?: string;
  /** The name of the worker. */
  readonly worker?: string;
  /** The ids of runs that wait for each other. */
  readonly circle?: readonly string[];
}
