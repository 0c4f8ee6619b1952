/** Who may use a store through servers: the same questions to the store itself, and to a server. */
import type { Role } from "holdfast/adapter";

export interface AccessKey {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly namespace: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

export interface NewKey extends Pick<AccessKey, "id" | "role" | "namespace" | "expiresAt"> {
  /** Shown once. */
  readonly token: string;
}

export interface NamespaceView {
  readonly namespace: string;
  readonly displayName: string;
  readonly description: string;
  readonly enabled: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface AuditEvent {
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly namespace: string;
  readonly subject: string;
  readonly outcome: string;
  readonly address: string;
}

/** Where a namespace is null, all are meant that the caller may see. */
export interface Operator {
  createToken(asked: Pick<AccessKey, "name" | "role" | "namespace" | "expiresAt">): Promise<NewKey>;
  listTokens(namespace: string | null): Promise<readonly AccessKey[]>;
  /** Throws `token_not_found`. */
  revokeToken(id: string, namespace: string | null): Promise<AccessKey>;
  /** Throws `namespace_already_exists`. */
  createNamespace(asked: Pick<NamespaceView, "namespace" | "displayName" | "description">): Promise<NamespaceView>;
  listNamespaces(): Promise<readonly NamespaceView[]>;
  /** Throws `namespace_not_found`. */
  setEnabled(namespace: string, enabled: boolean): Promise<NamespaceView>;
  /** The newest first. */
  listAudit(namespace: string | null, limit: number): Promise<readonly AuditEvent[]>;
  close(): Promise<void>;
}
