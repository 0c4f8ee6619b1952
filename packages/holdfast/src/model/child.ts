export const CLOSE_POLICIES = ["cancel", "terminate", "abandon"] as const;

/** What the end of a parent, or giving the child up, does to a child: it is asked to stop, ended at once, or left alone. */
export type ClosePolicy = (typeof CLOSE_POLICIES)[number];

/** How deep children may be nested: a run that nobody started has depth 0. */
export const CHILD_DEPTH_MAX = 100;

/** A run, as others name it. */
export interface RunName {
  readonly runId: string;
  readonly id: string;
}

/** Where a run comes from; a run that no other run has started has none. Fixed at its start, and inherited by its continuations. */
export interface Lineage {
  /** The run that started it. */
  readonly parent: RunName & { readonly namespace: string };
  /** The op of the parent that gets its result; null if it was started inside a step, and nobody waits for it. */
  readonly op: string | null;
  /** The first ancestor. */
  readonly root: RunName;
  /** The parent's plus one; the child of a run that nobody started has depth 1. */
  readonly depth: number;
}

/** Which run a child op has started, as the history of its parent keeps it. */
export interface ChildIdentity extends RunName {
  readonly workflow: string;
  readonly version: string;
}
