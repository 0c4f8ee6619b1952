/** Workflow versions: which code is known, and which of it new runs get. The promises of every call are in store.ts. */
import type { VersionRow } from "../model/version-row.ts";

export interface VersionStore {
  /**
   * Registers workflow versions, with the hash of their code. Returns the rows as they were before, null if there was none.
   * Idempotence key: (namespace, workflow, version); the newest hash stays.
   */
  register(params: RegisterVersionsParams): Promise<readonly (VersionRow | null)[]>;

  /** Changes a known version; setting a default or a share takes it from the version of that workflow that had it. */
  updateIfKnown(params: UpdateVersionParams): Promise<{ readonly known: boolean }>;

  /** Ordered by workflow, then by registration. Read only. */
  list(params: { readonly namespace: string; readonly workflow?: string }): Promise<readonly VersionRow[]>;
}

export interface RegisterVersionsParams {
  readonly namespace: string;
  readonly versions: readonly { readonly workflow: string; readonly version: string; readonly hash: string }[];
}

export interface UpdateVersionParams {
  readonly namespace: string;
  readonly workflow: string;
  readonly version: string;
  readonly change: { readonly isDefault: true } | { readonly share: number } | { readonly deprecated: boolean };
}
