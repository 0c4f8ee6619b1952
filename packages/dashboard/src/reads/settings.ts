import { DEFAULT_LIMITS } from "holdfast";
import type { SettingsView } from "../api/settings-messages.ts";
import { hasRole, mayOpen } from "../gate/visitor.ts";
import { VERSION } from "../version.ts";
import type { Ask, Scope } from "./scope.ts";

/** The keys of the store whose name begins like this are sessions of the dashboard. */
export const SESSION_NAME = "dashboard session of ";

export async function settings({ scope }: Ask): Promise<SettingsView> {
  const { view, store, namespace, codecUrl } = scope;
  const [retention, allowed, namespaces, keys] = await Promise.all([
    view.retention.get(),
    view.namespaces.allowed().catch(() => []),
    namespacesOf(scope),
    keysOf(scope),
  ]);
  return {
    namespace,
    store: store.place ?? "",
    version: VERSION,
    retention: Object.fromEntries(Object.entries(retention).map(([status, kept]) => [status, `${kept}`])),
    allowed,
    namespaces,
    tokens: keys
      .filter(({ name }) => !name.startsWith(SESSION_NAME))
      .map(({ id, name, role, namespace: of, createdAt, expiresAt, lastUsedAt, revokedAt }) => ({
        id,
        name,
        role,
        namespace: of,
        createdAt,
        expiresAt,
        lastUsedAt,
        revokedAt,
      })),
    sessions: keys
      .filter(
        ({ name, revokedAt, expiresAt }) =>
          name.startsWith(SESSION_NAME) && revokedAt === null && (expiresAt ?? 0) > store.clock.now(),
      )
      .map(({ id, name, createdAt, expiresAt }) => ({
        id,
        user: name.slice(SESSION_NAME.length),
        since: createdAt,
        until: expiresAt ?? 0,
        current: scope.visitor.user === name.slice(SESSION_NAME.length),
      })),
    codec: { name: store.codec.name, codecUrl },
    limits: { ...DEFAULT_LIMITS },
  };
}

async function namespacesOf({ store, visitor }: Scope): Promise<SettingsView["namespaces"]> {
  const rows = (await store.access?.listNamespaces({ after: null, limit: 1_000 })) ?? [];
  return rows
    .filter(({ name }) => mayOpen(visitor, name))
    .map(({ name, enabled, settings: set }) => ({
      name,
      disabled: !enabled,
      encryptedOnly: set.requiresEncryption === true,
    }));
}

async function keysOf({ store, visitor, namespace }: Scope) {
  if (!store.access || !hasRole(visitor, "admin")) return [];
  return store.access.listKeys({ namespace: visitor.namespaces.includes("*") ? null : namespace });
}
