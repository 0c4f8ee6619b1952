import {
  type AccessKeyRow,
  type AccessStore,
  AUDIT_KEPT_MS,
  type AuditRow,
  KEY_USE_NOTED_EVERY_MS,
  type ListAuditParams,
  type NamespaceChange,
  type NamespaceRow,
  type NewAccessKey,
  type NewAuditEvent,
  type NewNamespace,
} from "../ports/access.ts";
import type { Clock } from "../ports/clock.ts";
import { requireStorable } from "../ports/storable-texts.ts";

/** The model of every other one: what it answers, they answer. */
export class MemoryAccessStore implements AccessStore {
  readonly #clock: Clock;
  readonly #namespaces = new Map<string, NamespaceRow>();
  readonly #keys = new Map<string, AccessKeyRow>();
  #audit: AuditRow[] = [];
  #lastNumber = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async createNamespace(params: NewNamespace): Promise<{ readonly created: boolean; readonly row: NamespaceRow }> {
    requireStorable(params);
    const known = this.#namespaces.get(params.name);
    if (known) return { created: false, row: known };
    const { name, displayName, description } = params;
    const now = this.#now();
    const row = { name, displayName, description, enabled: true, settings: {}, createdAt: now, updatedAt: now };
    this.#namespaces.set(name, row);
    return { created: true, row };
  }

  async readNamespace({ name }: { readonly name: string }): Promise<NamespaceRow | null> {
    requireStorable({ name });
    return this.#namespaces.get(name) ?? null;
  }

  async listNamespaces({ after, limit }: { readonly after: string | null; readonly limit: number }) {
    const names = [...this.#namespaces.keys()].filter((name) => after === null || compare(name, after) > 0);
    return names
      .sort(compare)
      .slice(0, limit)
      .map((name) => this.#namespaces.get(name) as NamespaceRow);
  }

  async changeNamespace({ name, ...change }: NamespaceChange): Promise<NamespaceRow | null> {
    requireStorable({ name, ...change });
    const known = this.#namespaces.get(name);
    if (!known) return null;
    const row = { ...known, ...structuredClone(change), updatedAt: Math.max(this.#now(), known.createdAt) };
    this.#namespaces.set(name, row);
    return row;
  }

  async addKey(key: NewAccessKey): Promise<{ readonly added: boolean }> {
    requireStorable(key);
    const known = this.#keys.get(key.id);
    if (known) return { added: known.hash === key.hash };
    this.#keys.set(key.id, { ...key, createdAt: this.#now(), lastUsedAt: null, revokedAt: null });
    return { added: true };
  }

  async readKey({ id }: { readonly id: string }) {
    requireStorable({ id });
    const key = this.#keys.get(id);
    return key ? { key, now: this.#now() } : null;
  }

  async listKeys({ namespace }: { readonly namespace: string | null }): Promise<readonly AccessKeyRow[]> {
    return [...this.#keys.values()]
      .filter((key) => namespace === null || key.namespace === namespace)
      .sort((a, b) => a.createdAt - b.createdAt || compare(a.id, b.id));
  }

  async revokeKey({ id }: { readonly id: string }): Promise<AccessKeyRow | null> {
    const key = this.#keys.get(id);
    if (!key) return null;
    const revoked = { ...key, revokedAt: key.revokedAt ?? this.#now() };
    this.#keys.set(id, revoked);
    return revoked;
  }

  async noteKeyUse({ id }: { readonly id: string }): Promise<void> {
    const key = this.#keys.get(id);
    const now = this.#now();
    if (!key || (key.lastUsedAt !== null && key.lastUsedAt > now - KEY_USE_NOTED_EVERY_MS)) return;
    this.#keys.set(id, { ...key, lastUsedAt: now });
  }

  async addAudit({ events }: { readonly events: readonly NewAuditEvent[] }): Promise<void> {
    requireStorable({ events });
    const at = this.#now();
    for (const event of events) {
      if (this.#audit.some(({ eventId }) => eventId === event.eventId)) continue;
      this.#lastNumber += 1;
      this.#audit.push({ ...event, number: this.#lastNumber, at });
    }
  }

  async listAudit({ namespace, before, limit }: ListAuditParams): Promise<readonly AuditRow[]> {
    return this.#audit
      .filter((row) => (namespace === null || row.namespace === namespace) && (before === null || row.number < before))
      .reverse()
      .slice(0, limit);
  }

  async forgetAudit({ limit }: { readonly limit: number }): Promise<{ readonly more: boolean }> {
    const before = this.#now() - AUDIT_KEPT_MS;
    const old = this.#audit.filter(({ at }) => at < before);
    const gone = new Set(old.slice(0, limit));
    this.#audit = this.#audit.filter((row) => !gone.has(row));
    return { more: old.length > limit };
  }

  async forgetKeys({ limit }: { readonly limit: number }): Promise<{ readonly more: boolean }> {
    const before = this.#now() - AUDIT_KEPT_MS;
    const old = [...this.#keys.values()].filter(
      ({ expiresAt, revokedAt }) => Math.min(expiresAt ?? Infinity, revokedAt ?? Infinity) < before,
    );
    for (const { id } of old.slice(0, limit)) this.#keys.delete(id);
    return { more: old.length > limit };
  }

  #now(): number {
    return Math.floor(this.#clock.now());
  }
}

/** By code point, as the databases compare: not by UTF-16 unit. */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
