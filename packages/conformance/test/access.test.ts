import type { AccessStore } from "holdfast/adapter";
import { MemoryAccessStore } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { ACCESS_CASES, type AccessUnderTest, accessConformance, runAccessCase } from "../src/access-conformance.ts";
import { SettableClock } from "../src/settable-clock.ts";

async function memoryAccess(
  breaks: (it: AccessStore, clock: SettableClock) => Partial<AccessStore> = () => ({}),
): Promise<AccessUnderTest> {
  const clock = new SettableClock();
  const sound = new MemoryAccessStore(clock);
  const access = new Proxy(sound, {
    get: (_, name: keyof AccessStore) => breaks(sound, clock)[name] ?? (sound[name] as () => unknown).bind(sound),
  });
  return {
    access,
    async setClock(ms) {
      clock.ms = ms;
    },
    async close() {},
  };
}

accessConformance("memory", memoryAccess);

const SABOTAGES: Readonly<Record<string, (it: AccessStore, clock: SettableClock) => Partial<AccessStore>>> = {
  "says that a namespace is new each time": (it) => ({
    createNamespace: async (params) => ({ ...(await it.createNamespace(params)), created: true }),
  }),
  "lists namespaces from the beginning": (it) => ({
    listNamespaces: ({ limit }) => it.listNamespaces({ after: null, limit }),
  }),
  "resets what a change does not name": (it) => ({
    changeNamespace: (change) => it.changeNamespace({ settings: {}, enabled: true, description: "", ...change }),
  }),
  "adds a key whose id another has": (it) => ({
    addKey: async (key) => ({ ...(await it.addKey(key)), added: true }),
  }),
  "forgets when a key expires": (it) => ({ addKey: (key) => it.addKey({ ...key, expiresAt: null }) }),
  "lists the keys of all namespaces": (it) => ({ listKeys: () => it.listKeys({ namespace: null }) }),
  "revokes nothing": (it) => ({ revokeKey: async ({ id }) => (await it.readKey({ id }))?.key ?? null }),
  "moves the time of a revocation": (it, clock) => ({
    revokeKey: async (params) => {
      const row = await it.revokeKey(params);
      return row && { ...row, revokedAt: clock.ms };
    },
  }),
  "never notes the use of a key": () => ({ noteKeyUse: async () => {} }),
  "adds an audit event twice": (it) => ({
    addAudit: ({ events }) =>
      it.addAudit({ events: events.map((event, i) => ({ ...event, eventId: event.eventId + i })) }),
  }),
  "shows the audit events of other namespaces": (it) => ({
    listAudit: (params) => it.listAudit({ ...params, namespace: null }),
  }),
  "cuts texts at a NUL": (it) => ({
    addAudit: ({ events }) =>
      it.addAudit({
        events: events.map((event) => ({ ...event, subject: event.subject.split("\u0000")[0] as string })),
      }),
  }),
  "forgets no audit events": () => ({ forgetAudit: async () => ({ more: false }) }),
  "forgets no keys": () => ({ forgetKeys: async () => ({ more: false }) }),
  "starts every page of audit events at the newest": (it) => ({
    listAudit: (params) => it.listAudit({ ...params, before: null }),
  }),
};

describe("the access suite notices a store that", () => {
  test.for(Object.entries(SABOTAGES))("%s", async ([, breaks]) => {
    const failed = await Promise.all(
      Object.values(ACCESS_CASES).map((run) =>
        runAccessCase(() => memoryAccess(breaks), run).then(
          () => false,
          () => true,
        ),
      ),
    );
    expect(failed).toContain(true);
  });
});
