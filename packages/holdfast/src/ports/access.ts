/**
 * Who may use a store through a server: namespaces, API keys, and what was done with them. A port of its own, beside the store:
 * no worker needs it, and no client that reaches the store through a server may call it.
 *
 * Every call is atomic, and judges times by the store's own clock. Errors: `store_unavailable`, `store_outcome_unknown`,
 * `store_refused`, as in store.ts; also, with nothing written, for a text with a NUL or half of a surrogate pair. A call whose outcome is unknown is repeated unchanged, and changes nothing twice.
 */

/** What a key allows, each role with everything that those before it allow. */
export const ROLES = ["reader", "writer", "worker", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** Audit events are kept for so long. */
export const AUDIT_KEPT_MS = 90 * 24 * 60 * 60 * 1000;

/** When a key was last used is known to so much. */
export const KEY_USE_NOTED_EVERY_MS = 60 * 1000;

export interface AccessStore {
  /** Idempotence key: the name. One that exists is left as it is, and returned with `created: false`. */
  createNamespace(params: NewNamespace): Promise<{ readonly created: boolean; readonly row: NamespaceRow }>;

  /** Null if it was never created. Read only. */
  readNamespace(params: { readonly name: string }): Promise<NamespaceRow | null>;

  /** In alphabetical order (by code point), after that name. Read only. */
  listNamespaces(params: { readonly after: string | null; readonly limit: number }): Promise<readonly NamespaceRow[]>;

  /** What is absent stays. Null, and nothing happened, if there is no such namespace. Idempotent, but for `updatedAt`. */
  changeNamespace(params: NamespaceChange): Promise<NamespaceRow | null>;

  /** Idempotence key: the id. `added` is false, and nothing happened, if another key has it. */
  addKey(params: NewAccessKey): Promise<{ readonly added: boolean }>;

  /** Also one that has expired or was revoked; null if there is none. Read only. */
  readKey(params: { readonly id: string }): Promise<{ readonly key: AccessKeyRow; readonly now: number } | null>;

  /** Of one namespace, or all of them (`null`), in the order of their creation. Read only. */
  listKeys(params: { readonly namespace: string | null }): Promise<readonly AccessKeyRow[]>;

  /** The first time counts. Null if there is no such key. Idempotent. */
  revokeKey(params: { readonly id: string }): Promise<AccessKeyRow | null>;

  /** It was used now; noted no more often than every `KEY_USE_NOTED_EVERY_MS`. Idempotent. */
  noteKeyUse(params: { readonly id: string }): Promise<void>;

  /** Idempotence key: the event id. The events get numbers, each larger than those before. */
  addAudit(params: { readonly events: readonly NewAuditEvent[] }): Promise<void>;

  /** The newest first. Read only. */
  listAudit(params: ListAuditParams): Promise<readonly AuditRow[]>;

  /** Forgets events older than `AUDIT_KEPT_MS`, at most `limit`. Answers whether there are more. Idempotent. */
  forgetAudit(params: { readonly limit: number }): Promise<{ readonly more: boolean }>;

  /**
   * Forgets keys that have opened nothing for longer than `AUDIT_KEPT_MS`, because they expired or were revoked, at most `limit`: as long as an
   * audit event names one, it is known. Answers whether there are more. Idempotent.
   */
  forgetKeys(params: { readonly limit: number }): Promise<{ readonly more: boolean }>;
}

/** What operators have set for a namespace. */
export interface NamespaceSettings {
  /** Payloads that are not encrypted are refused. */
  readonly requiresEncryption?: boolean;
  /** By name. */
  readonly webhooks?: Readonly<Record<string, WebhookSettings>>;
}

/** What a delivery to `/hooks/{namespace}/{name}` does. */
export interface WebhookSettings {
  readonly workflow?: string;
  readonly signal?: string;
  /** The field of the body that has the id of the run: `order.id`. */
  readonly idPath?: string;
  /** The field of the body that has the key of the run. */
  readonly keyPath?: string;
  readonly secret: string;
}

export interface NewNamespace {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
}

export interface NamespaceRow extends NewNamespace {
  /** One that is disabled takes no starts and hands out no work. */
  readonly enabled: boolean;
  readonly settings: NamespaceSettings;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface NamespaceChange {
  readonly name: string;
  readonly displayName?: string;
  readonly description?: string;
  readonly enabled?: boolean;
  readonly settings?: NamespaceSettings;
}

export interface NewAccessKey {
  /** Public: it is part of the token, and of what people see. */
  readonly id: string;
  /** The SHA-256 of the token, 64 lower-case hexadecimal digits. The token itself is nowhere. */
  readonly hash: string;
  readonly name: string;
  readonly role: Role;
  /** A namespace, or `*` for all. */
  readonly namespace: string;
  readonly expiresAt: number | null;
}

export interface AccessKeyRow extends NewAccessKey {
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

/** Something that an operator did, or that was refused. Never has payloads. */
export interface NewAuditEvent {
  /** A UUID, made by the caller. */
  readonly eventId: string;
  readonly actor: string;
  readonly action: string;
  /** `*` if it concerns no namespace, or all. */
  readonly namespace: string;
  readonly subject: string;
  readonly outcome: string;
  readonly address: string;
}

export interface AuditRow extends NewAuditEvent {
  readonly number: number;
  readonly at: number;
}

export interface ListAuditParams {
  /** Null: of all. */
  readonly namespace: string | null;
  /** Events with smaller numbers; null: from the newest on. */
  readonly before: number | null;
  readonly limit: number;
}

/** Whether a key opens anything at this time. */
export function isUsableKey({ expiresAt, revokedAt }: AccessKeyRow, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}
