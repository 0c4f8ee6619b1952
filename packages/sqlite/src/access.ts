/** Who may use the store through a server: see ports/access.ts. */
import {
  type AccessKeyRow,
  type AccessStore,
  AUDIT_KEPT_MS,
  type AuditRow,
  KEY_USE_NOTED_EVERY_MS,
  type ListAuditParams,
  type NamespaceChange,
  type NamespaceRow,
  type NamespaceSettings,
  type NewAccessKey,
  type NewAuditEvent,
  type NewNamespace,
  storableOnly,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import type { Transactions } from "./transactions/transactions.ts";

const TENANT = `select name, display_name as displayName, description, enabled, settings, created_at as createdAt,
  updated_at as updatedAt from holdfast_tenants`;
const KEY = `select id, hash, name, role, namespace, expires_at as expiresAt, created_at as createdAt,
  last_used_at as lastUsedAt, revoked_at as revokedAt from holdfast_access_keys`;
const AUDIT = `select number, event_id as eventId, at, actor, action, namespace, subject, outcome, address
  from holdfast_audit`;

type StoredTenant = Omit<NamespaceRow, "enabled" | "settings"> & {
  readonly enabled: number;
  readonly settings: string;
};

export function sqliteAccess(transactions: Transactions): AccessStore {
  const read =
    <P, T>(body: (call: Call, params: P) => T) =>
    (params: P): Promise<T> =>
      transactions.read((call) => body(call, params));
  const write =
    <P, T>(body: (call: Call, params: P) => T) =>
    (params: P): Promise<T> =>
      transactions.write((call) => body(call, params));
  return storableOnly({
    createNamespace: write(createNamespace),
    readNamespace: read((call, { name }: { readonly name: string }) => tenant(call, name)),
    listNamespaces: read(listNamespaces),
    changeNamespace: write(changeNamespace),
    addKey: write(addKey),
    readKey: read(({ sql, now }, { id }: { readonly id: string }) => {
      const key = sql.get<AccessKeyRow>(`${KEY} where id = ?`, id);
      return key ? { key: { ...key }, now } : null;
    }),
    listKeys: read(listKeys),
    revokeKey: write(revokeKey),
    noteKeyUse: write(noteKeyUse),
    addAudit: write(addAudit),
    listAudit: read(listAudit),
    forgetAudit: write(forgetAudit),
    forgetKeys: write(forgetKeys),
  });
}

function tenant({ sql }: Call, name: string): NamespaceRow | null {
  const row = sql.get<StoredTenant>(`${TENANT} where name = ?`, name);
  return row ? tenantOf(row) : null;
}

function tenantOf({ enabled, settings, ...row }: StoredTenant): NamespaceRow {
  return { ...row, enabled: enabled === 1, settings: JSON.parse(settings) as NamespaceSettings };
}

function createNamespace(call: Call, { name, displayName, description }: NewNamespace) {
  const { sql, now } = call;
  const added = sql.run(
    "insert into holdfast_tenants values (?, ?, ?, 1, '{}', ?, ?) on conflict do nothing",
    name,
    displayName,
    description,
    now,
    now,
  );
  return { created: added > 0, row: tenant(call, name) as NamespaceRow };
}

function listNamespaces({ sql }: Call, { after, limit }: { readonly after: string | null; readonly limit: number }) {
  const rows = sql.all<StoredTenant>(`${TENANT} where name > ? order by name limit ?`, after ?? "", limit);
  return rows.map(tenantOf);
}

function changeNamespace(call: Call, { name, ...change }: NamespaceChange): NamespaceRow | null {
  const known = tenant(call, name);
  if (!known) return null;
  const { displayName, description, enabled, settings } = { ...known, ...change };
  call.sql.run(
    `update holdfast_tenants set display_name = ?, description = ?, enabled = ?, settings = ?,
       updated_at = max(created_at, ?) where name = ?`,
    displayName,
    description,
    enabled ? 1 : 0,
    JSON.stringify(settings),
    call.now,
    name,
  );
  return tenant(call, name);
}

function addKey({ sql, now }: Call, { id, hash, name, role, namespace, expiresAt }: NewAccessKey) {
  const added = sql.run(
    "insert into holdfast_access_keys values (?, ?, ?, ?, ?, ?, ?, null, null) on conflict do nothing",
    id,
    hash,
    name,
    role,
    namespace,
    expiresAt,
    now,
  );
  if (added > 0) return { added: true };
  return { added: sql.get<AccessKeyRow>(`${KEY} where id = ?`, id)?.hash === hash };
}

function listKeys({ sql }: Call, { namespace }: { readonly namespace: string | null }): readonly AccessKeyRow[] {
  const order = "order by created_at, id";
  const rows =
    namespace === null
      ? sql.all<AccessKeyRow>(`${KEY} ${order}`)
      : sql.all<AccessKeyRow>(`${KEY} where namespace = ? ${order}`, namespace);
  return rows.map((row) => ({ ...row }));
}

function revokeKey({ sql, now }: Call, { id }: { readonly id: string }): AccessKeyRow | null {
  sql.run("update holdfast_access_keys set revoked_at = ? where id = ? and revoked_at is null", now, id);
  const row = sql.get<AccessKeyRow>(`${KEY} where id = ?`, id);
  return row ? { ...row } : null;
}

function noteKeyUse({ sql, now }: Call, { id }: { readonly id: string }): void {
  sql.run(
    "update holdfast_access_keys set last_used_at = ? where id = ? and (last_used_at is null or last_used_at <= ?)",
    now,
    id,
    now - KEY_USE_NOTED_EVERY_MS,
  );
}

function addAudit({ sql, now }: Call, { events }: { readonly events: readonly NewAuditEvent[] }): void {
  for (const { eventId, actor, action, namespace, subject, outcome, address } of events)
    sql.run(
      `insert into holdfast_audit (event_id, at, actor, action, namespace, subject, outcome, address)
       values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
      eventId,
      now,
      actor,
      action,
      namespace,
      subject,
      outcome,
      address,
    );
}

function listAudit({ sql }: Call, { namespace, before, limit }: ListAuditParams): readonly AuditRow[] {
  const below = before ?? Number.MAX_SAFE_INTEGER;
  const newest = "number < ? order by number desc limit ?";
  const rows =
    namespace === null
      ? sql.all<AuditRow>(`${AUDIT} where ${newest}`, below, limit)
      : sql.all<AuditRow>(`${AUDIT} where namespace = ? and ${newest}`, namespace, below, limit);
  return rows.map((row) => ({ ...row }));
}

function forgetAudit({ sql, now }: Call, { limit }: { readonly limit: number }): { readonly more: boolean } {
  const before = now - AUDIT_KEPT_MS;
  sql.run(
    "delete from holdfast_audit where number in (select number from holdfast_audit where at < ? order by at limit ?)",
    before,
    limit,
  );
  return { more: sql.get("select 1 as yes from holdfast_audit where at < ? limit 1", before) !== undefined };
}

const OVER = "min(coalesce(expires_at, revoked_at), coalesce(revoked_at, expires_at)) < ?";

function forgetKeys({ sql, now }: Call, { limit }: { readonly limit: number }): { readonly more: boolean } {
  const before = now - AUDIT_KEPT_MS;
  const some = `select id from holdfast_access_keys where ${OVER} limit ?`;
  sql.run(`delete from holdfast_access_keys where id in (${some})`, before, limit);
  return { more: sql.get(some, before, 1) !== undefined };
}
