/** What every AccessStore does: namespaces, API keys, audit events. */
import { type AccessStore, AUDIT_KEPT_MS, KEY_USE_NOTED_EVERY_MS, type NewAuditEvent } from "holdfast/adapter";
import { describe, expect, test } from "vitest";

/** An empty one, whose clock stands still until it is set. */
export interface AccessUnderTest {
  readonly access: AccessStore;
  setClock(ms: number): Promise<void>;
  close(): Promise<void>;
}

export type AccessCase = (t: AccessUnderTest) => Promise<void>;

const NOON = 1_800_000_000_000;
const HASH = "ab".repeat(32);
const KEY = { id: "k1", hash: HASH, name: "ci", role: "writer", namespace: "shop", expiresAt: null } as const;

function event(n: number, namespace = "shop"): NewAuditEvent {
  const eventId = `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;
  return {
    eventId,
    actor: "ann",
    action: "CancelWorkflow",
    namespace,
    subject: `run ${n}`,
    outcome: "ok",
    address: "::1",
  };
}

export const ACCESS_CASES: Readonly<Record<string, AccessCase>> = {
  "a namespace is created once": async ({ access }) => {
    const wanted = { name: "shop", displayName: "The shop", description: "ä\n" };
    const row = { ...wanted, enabled: true, settings: {}, createdAt: NOON, updatedAt: NOON };
    expect(await access.createNamespace(wanted)).toEqual({ created: true, row });
    expect(await access.createNamespace({ ...wanted, displayName: "other" })).toEqual({ created: false, row });
    expect(await access.readNamespace({ name: "shop" })).toEqual(row);
    expect(await access.readNamespace({ name: "Shop" })).toBeNull();
  },

  "namespaces are listed by code point, page by page": async ({ access }) => {
    for (const name of ["b", "é", "a", "Z", "𝄞", "\uffee"])
      await access.createNamespace({ name, displayName: "", description: "" });
    const names = async (after: string | null, limit: number) =>
      (await access.listNamespaces({ after, limit })).map(({ name }) => name);
    expect(await names(null, 10)).toEqual(["Z", "a", "b", "é", "\uffee", "𝄞"]);
    expect(await names(null, 2)).toEqual(["Z", "a"]);
    expect(await names("a", 2)).toEqual(["b", "é"]);
    expect(await names("𝄞", 2)).toEqual([]);
  },

  "a change leaves alone what it does not name": async ({ access, setClock }) => {
    await access.createNamespace({ name: "shop", displayName: "a", description: "b" });
    await setClock(NOON + 5);
    const settings = { webhooks: { paid: { workflow: "order", secret: "s".repeat(16) } }, requiresEncryption: true };
    await access.changeNamespace({ name: "shop", settings });
    const changed = await access.changeNamespace({ name: "shop", enabled: false, description: "c" });
    const expected = {
      name: "shop",
      displayName: "a",
      description: "c",
      enabled: false,
      settings,
      createdAt: NOON,
      updatedAt: NOON + 5,
    };
    expect(changed).toEqual(expected);
    expect(await access.readNamespace({ name: "shop" })).toEqual(expected);
    expect(await access.changeNamespace({ name: "other", enabled: true })).toBeNull();
  },

  "a key is added once, whatever is repeated": async ({ access, setClock }) => {
    expect(await access.addKey(KEY)).toEqual({ added: true });
    await setClock(NOON + 1);
    expect(await access.addKey(KEY)).toEqual({ added: true });
    expect(await access.addKey({ ...KEY, hash: "cd".repeat(32), role: "admin" })).toEqual({ added: false });
    const key = { ...KEY, createdAt: NOON, lastUsedAt: null, revokedAt: null };
    expect(await access.readKey({ id: "k1" })).toEqual({ key, now: NOON + 1 });
    expect(await access.readKey({ id: "k2" })).toBeNull();
  },

  "a key keeps when it expires": async ({ access }) => {
    await access.addKey({ ...KEY, expiresAt: NOON + 60_000 });
    expect((await access.readKey({ id: "k1" }))?.key.expiresAt).toBe(NOON + 60_000);
  },

  "keys are listed by namespace, the oldest first": async ({ access, setClock }) => {
    await access.addKey({ ...KEY, id: "b" });
    await access.addKey({ ...KEY, id: "a", namespace: "*" });
    await setClock(NOON + 1);
    await access.addKey({ ...KEY, id: "0" });
    const ids = async (namespace: string | null) => (await access.listKeys({ namespace })).map(({ id }) => id);
    expect(await ids(null)).toEqual(["a", "b", "0"]);
    expect(await ids("shop")).toEqual(["b", "0"]);
    expect(await ids("*")).toEqual(["a"]);
    expect(await ids("other")).toEqual([]);
  },

  "the first revocation counts": async ({ access, setClock }) => {
    await access.addKey(KEY);
    await access.addKey({ ...KEY, id: "k2" });
    expect((await access.revokeKey({ id: "k1" }))?.revokedAt).toBe(NOON);
    await setClock(NOON + 9);
    expect((await access.revokeKey({ id: "k1" }))?.revokedAt).toBe(NOON);
    expect((await access.readKey({ id: "k1" }))?.key.revokedAt).toBe(NOON);
    expect((await access.readKey({ id: "k2" }))?.key.revokedAt).toBeNull();
    expect(await access.revokeKey({ id: "k3" })).toBeNull();
  },

  "the last use of a key is noted once a minute": async ({ access, setClock }) => {
    await access.addKey(KEY);
    await access.addKey({ ...KEY, id: "k2" });
    const lastUse = async () => (await access.readKey({ id: "k1" }))?.key.lastUsedAt;
    await access.noteKeyUse({ id: "k1" });
    expect(await lastUse()).toBe(NOON);
    await setClock(NOON + KEY_USE_NOTED_EVERY_MS - 1);
    await access.noteKeyUse({ id: "k1" });
    expect(await lastUse()).toBe(NOON);
    await setClock(NOON + KEY_USE_NOTED_EVERY_MS);
    await access.noteKeyUse({ id: "k1" });
    expect(await lastUse()).toBe(NOON + KEY_USE_NOTED_EVERY_MS);
    await access.noteKeyUse({ id: "nobody" });
    expect((await access.readKey({ id: "k2" }))?.key.lastUsedAt).toBeNull();
  },

  "audit events are added once each, and listed newest first": async ({ access, setClock }) => {
    await access.addAudit({ events: [event(1), event(2, "*")] });
    await setClock(NOON + 1);
    await access.addAudit({ events: [event(2, "*"), event(3)] });
    const all = await access.listAudit({ namespace: null, before: null, limit: 10 });
    expect(all.map(({ number: _, ...rest }) => rest)).toEqual([
      { ...event(3), at: NOON + 1 },
      { ...event(2, "*"), at: NOON },
      { ...event(1), at: NOON },
    ]);
    const numbers = all.map(({ number }) => number);
    expect(numbers).toEqual([...numbers].sort((a, b) => b - a));
    const own = await access.listAudit({ namespace: "shop", before: null, limit: 1 });
    expect(own.map(({ subject }) => subject)).toEqual(["run 3"]);
    const next = await access.listAudit({ namespace: "shop", before: own[0]?.number ?? 0, limit: 5 });
    expect(next.map(({ subject }) => subject)).toEqual(["run 1"]);
  },

  "texts of any script are kept whole, and those that no store can keep are refused": async ({ access }) => {
    const odd = "a\tb\n\u0001\u007f%00 \\u0000 '; -- 𝄞 ﷽ \u202e";
    await access.addAudit({ events: [{ ...event(1), subject: odd, actor: odd }] });
    await access.addKey({ ...KEY, name: odd });
    const settings = { webhooks: { paid: { workflow: odd, secret: "a\u0000b\ud800".padEnd(16, "s") } } };
    await access.createNamespace({ name: "shop", displayName: odd, description: odd });
    await access.changeNamespace({ name: "shop", settings });
    for (const bad of ["a\u0000b", "\ud800", "x\udc00y"]) {
      const refused = { code: "store_refused" };
      await expect(access.addAudit({ events: [event(2), { ...event(3), subject: bad }] })).rejects.toMatchObject(
        refused,
      );
      await expect(access.addKey({ ...KEY, id: "k2", name: bad })).rejects.toMatchObject(refused);
      const named = { name: bad, displayName: "", description: "" };
      await expect(access.createNamespace(named)).rejects.toMatchObject(refused);
      await expect(access.changeNamespace({ name: "shop", description: bad })).rejects.toMatchObject(refused);
      await expect(access.readNamespace({ name: bad })).rejects.toMatchObject(refused);
      await expect(access.readKey({ id: bad })).rejects.toMatchObject(refused);
    }
    const events = await access.listAudit({ namespace: null, before: null, limit: 10 });
    expect(events).toMatchObject([{ subject: odd, actor: odd }]);
    expect(await access.listKeys({ namespace: null })).toMatchObject([{ id: "k1", name: odd }]);
    expect(await access.listNamespaces({ after: null, limit: 10 })).toMatchObject([{ description: odd, settings }]);
  },

  "audit events are forgotten after ninety days, no earlier": async ({ access, setClock }) => {
    await access.addAudit({ events: [event(1), event(2)] });
    await setClock(NOON + 1);
    await access.addAudit({ events: [event(3)] });
    await setClock(NOON + AUDIT_KEPT_MS);
    expect(await access.forgetAudit({ limit: 10 })).toEqual({ more: false });
    expect(await access.listAudit({ namespace: null, before: null, limit: 10 })).toHaveLength(3);
    await setClock(NOON + AUDIT_KEPT_MS + 1);
    expect(await access.forgetAudit({ limit: 1 })).toEqual({ more: true });
    expect(await access.forgetAudit({ limit: 1 })).toEqual({ more: false });
    const left = await access.listAudit({ namespace: null, before: null, limit: 10 });
    expect(left.map(({ subject }) => subject)).toEqual(["run 3"]);
  },

  "keys are forgotten ninety days after they opened anything for the last time, no earlier": async ({
    access,
    setClock,
  }) => {
    const ids = async () => (await access.listKeys({ namespace: null })).map(({ id }) => id).sort();
    await access.addKey({ ...KEY, id: "lasting" });
    await access.addKey({ ...KEY, id: "expired", expiresAt: NOON });
    await access.addKey({ ...KEY, id: "expires-later", expiresAt: NOON + 1 });
    await access.addKey({ ...KEY, id: "revoked", expiresAt: NOON + 2 * AUDIT_KEPT_MS });
    await access.revokeKey({ id: "revoked" });
    await setClock(NOON + AUDIT_KEPT_MS);
    expect(await access.forgetKeys({ limit: 10 })).toEqual({ more: false });
    expect(await ids()).toHaveLength(4);
    await setClock(NOON + AUDIT_KEPT_MS + 1);
    expect(await access.forgetKeys({ limit: 1 })).toEqual({ more: true });
    expect(await access.forgetKeys({ limit: 1 })).toEqual({ more: false });
    expect(await ids()).toEqual(["expires-later", "lasting"]);
  },
};

/** Registers every case. `open` returns an empty store for each. */
export function accessConformance(name: string, open: () => Promise<AccessUnderTest>): void {
  describe(`${name} keeps the contract of access`, () => {
    for (const [title, run] of Object.entries(ACCESS_CASES)) test(title, () => runAccessCase(open, run));
  });
}

export async function runAccessCase(open: () => Promise<AccessUnderTest>, run: AccessCase): Promise<void> {
  const t = await open();
  try {
    await t.setClock(NOON);
    await run(t);
  } finally {
    await t.close();
  }
}
