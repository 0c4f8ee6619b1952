/** `token`, `namespace` and `audit`: who may use the store through a server. They work on the store itself, as whoever has its URL may. */
import type { AccessKeyRow, AccessStore, AuditRow, NamespaceRow, OpenedClients, Role } from "holdfast/adapter";
import type { Call } from "../../command/call.ts";
import { given, readTime } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";
import { isServer } from "../../io/open.ts";
import { relativeTime } from "../../output/times.ts";
import { requireServerPackage } from "../code/server-package.ts";

const PAGE = 500;

interface Access {
  readonly store: AccessStore;
  readonly opened: OpenedClients;
  /** Notes what was done, beside what servers note. */
  audit(action: string, namespace: string, subject: string): Promise<void>;
}

async function withAccess(call: Call, work: (access: Access) => Promise<undefined>): Promise<undefined> {
  const { url } = call.target();
  if (isServer(url))
    throw new UsageError(`${call.verb.path} works on the store: --url postgres://… or --url file:app.db.`);
  const { openClients, uuidV7, HoldfastError } = await call.io.adapter();
  const logger = { debug() {}, info() {}, warn() {}, error: (_: object, text: string) => call.out.note(text) };
  const opened = await openClients(url, { logger });
  try {
    const { access: store } = opened.opened;
    if (!store) throw new HoldfastError("not_supported", `${call.verb.path}: this store keeps no keys.`);
    const audit: Access["audit"] = async (action, namespace, subject) => {
      const eventId = uuidV7(opened.clock.now(), opened.random.bytes(16));
      const event = { eventId, actor: "holdfast", action, namespace, subject, outcome: "ok", address: "" };
      await store.addAudit({ events: [event] });
    };
    return await work({ store, opened, audit });
  } finally {
    await opened.close();
  }
}

export const createToken: Action = (call) =>
  withAccess(call, async ({ store, opened, audit }) => {
    const { createKey, requireNamespaceName } = await requireServerPackage(call);
    const namespace = call.target().namespace ?? "default";
    if (namespace !== "*") requireNamespaceName(namespace);
    const expiresAt = readTime(call, "expires") ?? null;
    const asked = { name: call.text("name") ?? "", role: call.required("role") as Role, namespace, expiresAt };
    const made = await createKey(store, opened.random, asked);
    await audit("CreateToken", namespace, made.id);
    const { id, token, role } = made;
    call.out.record({ id, token, role, namespace, expiresAt: made.expiresAt });
    call.out.line(token);
    call.out.note(`Key ${id}: ${role} in ${namespace}. The token is shown once.`);
    return undefined;
  });

export const listTokens: Action = (call) =>
  withAccess(call, async ({ store }) => {
    const keys = (await store.listKeys({ namespace: call.target().namespace ?? null })).map(shownKey);
    const now = call.io.now();
    call.out.table(
      keys,
      [
        { title: "ID", value: ({ id }) => id },
        { title: "NAME", value: ({ name }) => name, cut: "end", optional: true },
        { title: "ROLE", value: ({ role }) => role },
        { title: "NAMESPACE", value: ({ namespace }) => namespace, cut: "middle" },
        { title: "CREATED", value: ({ createdAt }) => relativeTime(createdAt, now) },
        { title: "EXPIRES", value: ({ expiresAt }) => expiresAt?.toISOString() ?? "", optional: true },
        { title: "LAST USED", value: ({ lastUsedAt }) => (lastUsedAt ? relativeTime(lastUsedAt, now) : "never") },
        { title: "REVOKED", value: ({ revokedAt }) => (revokedAt ? relativeTime(revokedAt, now) : ""), optional: true },
      ],
      "There are no keys.",
    );
    return undefined;
  });

export const revokeToken: Action = (call) =>
  withAccess(call, async ({ store, audit }) => {
    const id = call.argument("id");
    const key = await store.revokeKey({ id });
    if (!key) throw await notFound(call, "token_not_found", `There is no key ${id}.`);
    await audit("RevokeToken", key.namespace, id);
    call.out.done(`Revoked ${id}; servers notice within a minute`, shownKey(key));
    return undefined;
  });

export const createNamespace: Action = (call) =>
  withAccess(call, async ({ store, audit }) => {
    const name = call.argument("name");
    (await requireServerPackage(call)).requireNamespaceName(name);
    const words = { displayName: call.text("display-name") ?? "", description: call.text("description") ?? "" };
    const { created, row } = await store.createNamespace({ name, ...words });
    if (!created) throw await notFound(call, "namespace_already_exists", `There is a namespace "${name}" already.`);
    await audit("CreateNamespace", name, name);
    call.out.done(`Created namespace ${name}`, shownNamespace(row));
    return undefined;
  });

export const listNamespaces: Action = (call) =>
  withAccess(call, async ({ store }) => {
    const rows: NamespaceRow[] = [];
    for (let after: string | null = null; ; after = rows.at(-1)?.name ?? null) {
      const page = await store.listNamespaces({ after, limit: PAGE });
      rows.push(...page);
      if (page.length < PAGE) break;
    }
    call.out.table(
      rows.map(shownNamespace),
      [
        { title: "NAMESPACE", value: ({ namespace }) => namespace, cut: "middle" },
        { title: "STATE", value: ({ enabled }) => (enabled ? "enabled" : "disabled") },
        { title: "NAME", value: ({ displayName }) => displayName, cut: "end", optional: true },
        { title: "CREATED", value: ({ createdAt }) => relativeTime(createdAt, call.io.now()) },
      ],
      "There are no namespaces: they are created when they are first used through a server.",
    );
    return undefined;
  });

export const enableNamespace: Action = (call) => change(call, true);
export const disableNamespace: Action = (call) => change(call, false);

function change(call: Call, enabled: boolean): Promise<undefined> {
  return withAccess(call, async ({ store, audit }) => {
    const name = call.argument("name");
    const row = await store.changeNamespace({ name, enabled });
    if (!row) throw await notFound(call, "namespace_not_found", `There is no namespace "${name}".`);
    await audit(enabled ? "EnableNamespace" : "DisableNamespace", name, name);
    call.out.done(`${enabled ? "Enabled" : "Disabled"} namespace ${name}`, shownNamespace(row));
    return undefined;
  });
}

export const listAudit: Action = (call) =>
  withAccess(call, async ({ store }) => {
    const limit = call.number("limit") ?? 50;
    const events: AuditRow[] = [];
    while (events.length < limit) {
      const before = events.at(-1)?.number ?? null;
      const asked = {
        namespace: call.target().namespace ?? null,
        before,
        limit: Math.min(PAGE, limit - events.length),
      };
      const page = await store.listAudit(asked);
      events.push(...page);
      if (page.length < asked.limit) break;
    }
    call.out.table(
      events.map(({ at, number: _, ...event }) => ({ at: new Date(at), ...event })),
      [
        { title: "AT", value: ({ at }) => at.toISOString() },
        { title: "WHO", value: ({ actor }) => actor, cut: "middle" },
        { title: "WHAT", value: ({ action }) => action },
        { title: "NAMESPACE", value: ({ namespace }) => namespace, cut: "middle" },
        { title: "SUBJECT", value: ({ subject }) => subject, cut: "middle" },
        { title: "OUTCOME", value: ({ outcome }) => outcome },
        { title: "ADDRESS", value: ({ address }) => address, optional: true },
      ],
      "There are no events.",
    );
    return undefined;
  });

function shownKey({ id, name, role, namespace, createdAt, expiresAt, lastUsedAt, revokedAt }: AccessKeyRow) {
  const at = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
  const times = { createdAt: new Date(createdAt), expiresAt: at(expiresAt), lastUsedAt: at(lastUsedAt) };
  return { id, name, role, namespace, ...times, revokedAt: at(revokedAt) };
}

function shownNamespace({ name, displayName, description, enabled, createdAt, updatedAt }: NamespaceRow) {
  const times = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
  return { namespace: name, displayName, description, enabled, ...times };
}

type AccessCode = "token_not_found" | "namespace_not_found" | "namespace_already_exists";

async function notFound(call: Call, code: AccessCode, message: string): Promise<Error> {
  const { HoldfastError } = await call.io.adapter();
  return new HoldfastError(code, message, { data: given({ id: call.word("id"), namespace: call.word("name") }) });
}
