/** Namespaces, as far as they let in runs of others. The promises of every call are in store.ts. */

export interface NamespaceStore {
  /** Runs of the namespace `other` may send to runs of `namespace`, watch them, and start children there. Idempotent. */
  allow(params: NamespacePair): Promise<void>;

  /** Takes that back. What has been sent, started or watched stays. Idempotent. */
  disallow(params: NamespacePair): Promise<void>;

  /** The namespaces that `namespace` has let in, in alphabetical order. Read only. */
  read(params: { readonly namespace: string }): Promise<{ readonly allows: readonly string[] }>;
}

export interface NamespacePair {
  readonly namespace: string;
  readonly other: string;
}
