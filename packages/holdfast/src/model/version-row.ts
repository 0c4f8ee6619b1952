/** A version of a workflow that some worker has offered at some time. */
export interface VersionRow {
  readonly namespace: string;
  readonly workflow: string;
  readonly version: string;
  /** What tells the code that was registered last under this version from other code, however it was compiled. */
  readonly hash: string;
  /** What starts without a version get; at most one per workflow. */
  readonly isDefault: boolean;
  /** Share of those starts that get this version instead of the default (canary), 0 to 1; at most one per workflow above 0. */
  readonly share: number;
  readonly deprecated: boolean;
  readonly registeredAt: number;
}
