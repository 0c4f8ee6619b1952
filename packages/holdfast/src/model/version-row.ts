/** A version of a workflow that a worker has offered at some time. */
export interface VersionRow {
  readonly namespace: string;
  readonly workflow: string;
  readonly version: string;
  /** Identifies the code last registered under this version, however it was compiled. */
  readonly hash: string;
  /** The version for starts that name none; at most one per workflow. */
  readonly isDefault: boolean;
  /** Share of those starts that get this version instead of the default (canary), 0 to 1; at most one per workflow above 0. */
  readonly share: number;
  readonly deprecated: boolean;
  readonly registeredAt: number;
  /** What its runs have, unless their starts say otherwise. Null: whoever registered it last did not tell. */
  readonly starts: StartDefaults | null;
}

/** What the definition of a workflow gives its runs: starts by name get it, too. */
export interface StartDefaults {
  readonly queue: string;
  readonly priority: number;
  /** Null: no limit. */
  readonly timeoutMs: number | null;
  /** Whether runs have a key, which the definition computes from the input. */
  readonly keyed: boolean;
}
