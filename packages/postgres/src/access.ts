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
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { callOf, queryOf, type Values } from "./database/server-call.ts";

const TENANT = `t.name, t.display_name as "displayName", t.description, t.enabled, t.settings, t.created_at as "createdAt",
  t.updated_at as "updatedAt"`;
const KEY = `k.id, k.hash, k.name, k.role, k.namespace, k.expires_at as "expiresAt", k.created_at as "createdAt",
  k.last_used_at as "lastUsedAt", k.revoked_at as "revokedAt"`;
const AUDIT = `a.number, a.event_id::text as "eventId", a.at, a.actor, a.action, a.namespace, a.subject, a.outcome, a.address`;

const CREATE_TENANT = callOf<NewNamespace>("create_tenant", {
  p_name: ({ name }) => name,
  p_display_name: ({ displayName }) => displayName,
  p_description: ({ description }) => description,
});
const READ_TENANT = queryOf<{ readonly name: string }>(
  "read_tenant",
  (at) => `select ${TENANT} from ${at}.tenants t where t.name = $p_name`,
  { p_name: ({ name }) => name },
);
const LIST_TENANTS = queryOf<{ readonly after: string | null; readonly limit: number }>(
  "list_tenants",
  (at) => `select ${TENANT} from ${at}.tenants t where t.name > $p_after order by t.name limit $p_limit`,
  { p_after: ({ after }) => after ?? "", p_limit: ({ limit }) => limit },
);
const CHANGE_TENANT = callOf<NamespaceChange>("change_tenant", {
  p_name: ({ name }) => name,
  p_display_name: ({ displayName = null }) => displayName,
  p_description: ({ description = null }) => description,
  p_enabled: ({ enabled = null }) => enabled,
  p_settings: ({ settings }) => (settings === undefined ? null : JSON.stringify(settings)),
});
const ADD_KEY = callOf<NewAccessKey>("add_access_key", {
  p_id: ({ id }) => id,
  p_hash: ({ hash }) => hash,
  p_name: ({ name }) => name,
  p_role: ({ role }) => role,
  p_namespace: ({ namespace }) => namespace,
  p_expires_at: ({ expiresAt }) => expiresAt,
});
const BY_ID: Values<{ readonly id: string }> = { p_id: ({ id }) => id };
const READ_KEY = queryOf<{ readonly id: string }>(
  "read_access_key",
  (at) => `select ${KEY}, ${at}.now_ms() as now from ${at}.access_keys k where k.id = $p_id`,
  BY_ID,
);
const LIST_KEYS = queryOf<{ readonly namespace: string | null }>(
  "list_access_keys",
  (at) => `select ${KEY} from ${at}.access_keys k where $p_namespace::text is null or k.namespace = $p_namespace
            order by k.created_at, k.id`,
  { p_namespace: ({ namespace }) => namespace },
);
const REVOKE_KEY = callOf<{ readonly id: string }>("revoke_access_key", BY_ID);
const NOTE_USE = callOf<{ readonly id: string }>("note_key_use", { ...BY_ID, p_every: () => KEY_USE_NOTED_EVERY_MS });
const ADD_AUDIT = callOf<readonly NewAuditEvent[]>("add_audit", {
  p_event_id: (events) => events.map(({ eventId }) => eventId),
  p_actor: (events) => events.map(({ actor }) => actor),
  p_action: (events) => events.map(({ action }) => action),
  p_namespace: (events) => events.map(({ namespace }) => namespace),
  p_subject: (events) => events.map(({ subject }) => subject),
  p_outcome: (events) => events.map(({ outcome }) => outcome),
  p_address: (events) => events.map(({ address }) => address),
});
const PAGE: Values<ListAuditParams> = {
  p_before: ({ before }) => before ?? Number.MAX_SAFE_INTEGER,
  p_limit: ({ limit }) => limit,
};
const LIST_ALL_AUDIT = queryOf<ListAuditParams>(
  "list_all_audit",
  (at) => `select ${AUDIT} from ${at}.audit a where a.number < $p_before order by a.number desc limit $p_limit`,
  PAGE,
);
const LIST_AUDIT = queryOf<ListAuditParams>(
  "list_audit",
  (at) => `select ${AUDIT} from ${at}.audit a where a.namespace = $p_namespace and a.number < $p_before
            order by a.number desc limit $p_limit`,
  { ...PAGE, p_namespace: ({ namespace }) => namespace },
);
const FORGET_AUDIT = callOf<{ readonly limit: number }>("forget_audit", {
  p_kept: () => AUDIT_KEPT_MS,
  p_limit: ({ limit }) => limit,
});

const FORGET_KEYS = callOf<{ readonly limit: number }>("forget_access_keys", {
  p_kept: () => AUDIT_KEPT_MS,
  p_limit: ({ limit }) => limit,
});

export function postgresAccess(server: Server): AccessStore {
  const tenant = async (name: string): Promise<NamespaceRow | null> => {
    const [row] = await server.read(READ_TENANT, { name });
    return row ? tenantOf(row) : null;
  };
  const key = async (id: string): Promise<{ readonly key: AccessKeyRow; readonly now: number } | null> => {
    const [row] = await server.read(READ_KEY, { id });
    if (!row) return null;
    const { now, ...read } = row;
    return { key: read as unknown as AccessKeyRow, now: now as number };
  };
  return storableOnly({
    async createNamespace(params) {
      const { o_created: created } = await server.writeOne(CREATE_TENANT, params);
      return { created: created as boolean, row: (await tenant(params.name)) as NamespaceRow };
    },
    readNamespace: ({ name }) => tenant(name),
    listNamespaces: async (params) => (await server.read(LIST_TENANTS, params)).map(tenantOf),
    async changeNamespace(params) {
      await server.write(CHANGE_TENANT, params);
      return tenant(params.name);
    },
    async addKey(params) {
      return { added: (await server.writeOne(ADD_KEY, params)).o_added as boolean };
    },
    readKey: ({ id }) => key(id),
    listKeys: async (params) => (await server.read(LIST_KEYS, params)) as unknown as AccessKeyRow[],
    async revokeKey({ id }) {
      await server.write(REVOKE_KEY, { id });
      return (await key(id))?.key ?? null;
    },
    async noteKeyUse(params) {
      await server.write(NOTE_USE, params);
    },
    async addAudit({ events }) {
      await server.write(ADD_AUDIT, events);
    },
    listAudit: async (params) =>
      (await server.read(params.namespace === null ? LIST_ALL_AUDIT : LIST_AUDIT, params)) as unknown as AuditRow[],
    async forgetAudit(params) {
      return { more: (await server.writeOne(FORGET_AUDIT, params)).o_more as boolean };
    },
    async forgetKeys(params) {
      return { more: (await server.writeOne(FORGET_KEYS, params)).o_more as boolean };
    },
  });
}

function tenantOf({ settings, ...row }: Row): NamespaceRow {
  return { ...row, settings: JSON.parse(settings as string) as NamespaceSettings } as unknown as NamespaceRow;
}
