/** How long namespaces keep runs that have ended. The promises of every call are in store.ts. */
import type { RetentionRules } from "../model/retention.ts";

export interface RetentionStore {
  /** Replaces the rules of the namespace; without any, its runs are kept. Hints the leader. Idempotent. */
  set(params: NamespaceRetention): Promise<void>;

  /** The rules of the namespace. Read only. */
  read(params: { readonly namespace: string }): Promise<RetentionRules>;

  /** Those of all namespaces that have any, in the order of their names. Read only. */
  list(params: Readonly<Record<never, never>>): Promise<readonly NamespaceRetention[]>;
}

export interface NamespaceRetention {
  readonly namespace: string;
  readonly rules: RetentionRules;
}
