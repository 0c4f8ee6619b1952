/** The store itself: whoever has its URL may do everything. */
import type { AccessKeyRow, AccessStore, NamespaceRow, OpenedClients } from "holdfast/adapter";
import type { Call } from "../../command/call.ts";
import type { Adapter } from "../../io/io.ts";
import { openStore } from "../../io/open.ts";
import { requireServerPackage } from "../code/server-package.ts";
import type { AccessKey, AuditEvent, NamespaceView, NewKey, Operator } from "./operator.ts";

const PAGE = 500;

/** `create`: a store that is not there yet is created, as for the first key. */
export async function openStoreOperator(call: Call, url: string, create: boolean): Promise<Operator> {
  const adapter = await call.io.adapter();
  const logger = { debug() {}, info() {}, warn() {}, error: (_: object, text: string) => call.out.note(text) };
  const opened = await openStore(call.io, url, create ? "empty" : "never", (migrate) =>
    adapter.openClients(url, { logger, ...migrate }),
  );
  const { access } = opened.opened;
  if (access) return new StoreOperator(call, adapter, opened, access);
  await opened.close();
  throw new adapter.HoldfastError("not_supported", `${call.verb.path}: this store keeps no keys.`);
}

class StoreOperator implements Operator {
  readonly #call: Call;
  readonly #adapter: Adapter;
  readonly #opened: OpenedClients;
  readonly #access: AccessStore;

  constructor(call: Call, adapter: Adapter, opened: OpenedClients, access: AccessStore) {
    this.#call = call;
    this.#adapter = adapter;
    this.#opened = opened;
    this.#access = access;
  }

  async createToken(asked: Parameters<Operator["createToken"]>[0]): Promise<NewKey> {
    const { createKey } = await requireServerPackage(this.#call);
    const made = await createKey(this.#access, this.#opened.random, asked);
    await this.#audit("CreateToken", asked.namespace, made.id);
    return made;
  }

  async listTokens(namespace: string | null): Promise<readonly AccessKey[]> {
    return (await this.#access.listKeys({ namespace })).map(keyOf);
  }

  async revokeToken(id: string, namespace: string | null): Promise<AccessKey> {
    const known = (await this.#access.readKey({ id }))?.key;
    const isTheirs = known && (namespace === null || known.namespace === namespace);
    const key = isTheirs ? await this.#access.revokeKey({ id }) : undefined;
    if (!key)
      throw new this.#adapter.HoldfastError("token_not_found", `There is no key ${id}.`, { data: { tokenId: id } });
    await this.#audit("RevokeToken", key.namespace, id);
    return keyOf(key);
  }

  async createNamespace(asked: Parameters<Operator["createNamespace"]>[0]): Promise<NamespaceView> {
    const { namespace: name, displayName, description } = asked;
    (await requireServerPackage(this.#call)).requireNamespaceName(name);
    const { created, row } = await this.#access.createNamespace({ name, displayName, description });
    if (!created) throw this.#refused("namespace_already_exists", `There is a namespace "${name}" already.`, name);
    await this.#audit("CreateNamespace", name, name);
    return namespaceOf(row);
  }

  async listNamespaces(): Promise<readonly NamespaceView[]> {
    const rows: NamespaceRow[] = [];
    for (let after: string | null = null; ; after = rows.at(-1)?.name ?? null) {
      const page = await this.#access.listNamespaces({ after, limit: PAGE });
      rows.push(...page);
      if (page.length < PAGE) return rows.map(namespaceOf);
    }
  }

  async setEnabled(name: string, enabled: boolean): Promise<NamespaceView> {
    const row = await this.#access.changeNamespace({ name, enabled });
    if (!row) throw this.#refused("namespace_not_found", `There is no namespace "${name}".`, name);
    await this.#audit(enabled ? "EnableNamespace" : "DisableNamespace", name, name);
    return namespaceOf(row);
  }

  async listAudit(namespace: string | null, limit: number): Promise<readonly AuditEvent[]> {
    const events: AuditEvent[] = [];
    let before: number | null = null;
    while (events.length < limit) {
      const wanted = Math.min(PAGE, limit - events.length);
      const page = await this.#access.listAudit({ namespace, before, limit: wanted });
      for (const { at, number: _number, eventId: _eventId, ...event } of page)
        events.push({ at: new Date(at), ...event });
      if (page.length < wanted) break;
      before = page.at(-1)?.number ?? null;
    }
    return events;
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  /** Beside what servers note. */
  async #audit(action: string, namespace: string, subject: string): Promise<void> {
    const { clock, random } = this.#opened;
    const eventId = this.#adapter.uuidV7(clock.now(), random.bytes(16));
    const event = { eventId, actor: "holdfast", action, namespace, subject, outcome: "ok", address: "" };
    await this.#access.addAudit({ events: [event] });
  }

  #refused(code: "namespace_not_found" | "namespace_already_exists", message: string, namespace: string): Error {
    return new this.#adapter.HoldfastError(code, message, { data: { namespace } });
  }
}

/** Without its hash. */
function keyOf({ id, name, role, namespace, createdAt, expiresAt, lastUsedAt, revokedAt }: AccessKeyRow): AccessKey {
  const at = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
  const times = { createdAt: new Date(createdAt), expiresAt: at(expiresAt), lastUsedAt: at(lastUsedAt) };
  return { id, name, role, namespace, ...times, revokedAt: at(revokedAt) };
}

function namespaceOf({ name, displayName, description, enabled, createdAt, updatedAt }: NamespaceRow): NamespaceView {
  const times = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
  return { namespace: name, displayName, description, enabled, ...times };
}
