/** Workflow versions: which code is known, and which of it new runs get. The promises of every call are in store.ts. */
import type { StartDefaults, VersionRow } from "../model/version-row.ts";

export interface VersionStore {
  /**
   * Registers workflow versions, with the hash of their code and what their runs have. Returns the rows as they were before, null if
   * there was none. Idempotence key: (namespace, workflow, version); the newest hash stays, and the newest `starts` that was given.
   */
  register(params: RegisterVersionsParams): Promise<readonly (VersionRow | null)[]>;

  /** Changes a known version; setting a default or a share takes it from the version of that workflow that had it. */
  updateIfKnown(params: UpdateVersionParams): Promise<{ readonly known: boolean }>;

  /** Ordered by workflow, then by registration. Read only. */
  list(params: { readonly namespace: string; readonly workflow?: string }): Promise<readonly VersionRow[]>;
}

export interface RegisterVersionsParams {
  readonly namespace: string;
  readonly versions: readonly RegisteredVersion[];
}

export interface RegisteredVersion {
  readonly workflow: string;
  readonly version: string;
  readonly hash: string;
  readonly starts?: StartDefaults;
}

export interface UpdateVersionParams {
  readonly namespace: string;
  readonly workflow: string;
  readonly version: string;
  readonly change: { readonly isDefault: true } | { readonly share: number } | { readonly deprecated: boolean };
}
