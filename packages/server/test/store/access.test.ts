// Who may do what through a session: keys, namespaces and limits, with the client and the workers that everybody uses.
import { type Client, type ConnectOptions, connect, silentLogger, workflow } from "holdfast";
import { hookedStore, type OpenedStore, type Role, systemPorts } from "holdfast/adapter";
import { describe, expect, onTestFinished, test } from "vitest";
import { createKey, type MadeKey, type ServerOptions } from "../../src/index.ts";
import { isLimited } from "../../src/store-service/admission.ts";
import { memoryStore, type ServedStore, serve } from "./served-store.ts";
import { until } from "./session-lab.ts";

const double = workflow("double", (ctx, n: number) => ctx.step("double", async () => 2 * n));

async function served(options: Partial<ServerOptions> = {}, opened = memoryStore()): Promise<ServedStore> {
  const one = await serve(opened, { auth: "keys", ...options });
  onTestFinished(() => one.close());
  return one;
}

function key({ access }: OpenedStore, role: Role, namespace: string): Promise<MadeKey> {
  return createKey(access!, systemPorts.random, { name: "", role, namespace, expiresAt: null });
}

async function client(url: string, options: ConnectOptions = {}): Promise<Client> {
  const hf = await connect(url, { logger: silentLogger, ...options });
  onTestFinished(() => hf.close());
  return hf;
}

describe("a key", () => {
  test("of the role worker serves its namespace, and one of the role writer starts runs there", async () => {
    const { url, opened } = await served();
    const [works, writes] = [await key(opened, "worker", "shop"), await key(opened, "writer", "shop")];
    const there = await client(url, { namespace: "shop", token: works.token });
    await there.worker({ workflows: [double] }).start();
    const here = await client(url, { namespace: "shop", token: writes.token });
    expect(await here.run(double, 21)).toBe(42);
    await expect(here.worker({ workflows: [double] }).start()).rejects.toMatchObject({ code: "permission_denied" });
  });

  test("that is missing or wrong is refused at once", async () => {
    const { url, opened } = await served();
    const { token } = await key(opened, "reader", "shop");
    for (const wrong of [undefined, "wrong", `${token.slice(0, -1)}x`]) {
      const refused = connect(url, { logger: silentLogger, ...(wrong === undefined ? {} : { token: wrong }) });
      await expect(refused).rejects.toMatchObject({ code: "unauthenticated" });
    }
    expect(await (await client(url, { namespace: "shop", token })).count()).toBe(0);
  });

  test("of another role or namespace is refused by each call", async () => {
    const { url, opened } = await served();
    const { token } = await key(opened, "reader", "shop");
    const [mine, other] = [
      await client(url, { token, namespace: "shop" }),
      await client(url, { token, namespace: "other" }),
    ];
    expect(await mine.count()).toBe(0);
    await expect(mine.start(double, 1)).rejects.toMatchObject({ code: "permission_denied" });
    await expect(other.count()).rejects.toMatchObject({ code: "permission_denied" });
    await expect(other.worker({ workflows: [double] }).start()).rejects.toMatchObject({ code: "permission_denied" });
  });

  test("that is revoked loses its sessions, its calls fail at once, and its runs go on with another worker", async () => {
    const { url, opened, server } = await served({ sessions: { recheckMs: 20, firstSweepMs: 0 } });
    const [old, next] = [await key(opened, "worker", "shop"), await key(opened, "worker", "shop")];
    const first = await client(url, { namespace: "shop", token: old.token });
    const begun: string[] = [];
    let revoked = (): void => {};
    const untilRevoked = new Promise<void>((resolve) => {
      revoked = resolve;
    });
    const order = (who: string) =>
      workflow("order", async (ctx) => {
        await ctx.step("pay", async () => void begun.push(who));
        return ctx.step("ship", async () => {
          if (who === "first") await untilRevoked;
          return who;
        });
      });
    await first.worker({ workflows: [order("first")], lease: "1s", drainTimeout: "0s" }).start();
    const second = await client(url, { namespace: "shop", token: next.token });
    const run = await second.start("order", undefined, { id: "o1" });
    await until(() => begun.length === 1);
    await opened.access!.revokeKey({ id: old.id });
    // The key is remembered for five seconds at most.
    while (server.sessions > 1) await new Promise<void>((resolve) => void setTimeout(resolve, 20)); // tidy-allow: by real time
    await expect(forever(() => first.count())).rejects.toMatchObject({ code: "unauthenticated" });
    revoked();
    await second.worker({ workflows: [order("second")], lease: "1s" }).start();
    expect(await run.result()).toBe("second");
    expect(begun).toEqual(["first"]);
  }, 20_000);
});

describe("a namespace that is disabled", () => {
  test("takes no starts and no claims through sessions until it is enabled", async () => {
    const memory = memoryStore();
    let claims = 0;
    const store = hookedStore(memory.store, {
      "runs.claim": (claim, call) => {
        if (claim.namespace === "shop") claims += 1;
        return call();
      },
    });
    await memory.access!.createNamespace({ name: "shop", displayName: "", description: "" });
    await memory.access!.changeNamespace({ name: "shop", enabled: false });
    const { url, opened, server } = await served({}, { ...memory, store });
    const { token } = await key(opened, "admin", "*");
    const lines: string[] = [];
    const error = (fields: object): void => void lines.push(JSON.stringify(fields));
    const hf = await client(url, { namespace: "shop", token, logger: { ...silentLogger, error } });
    await expect(hf.start(double, 4)).rejects.toMatchObject({ code: "namespace_disabled" });
    await hf.worker({ workflows: [double] }).start();
    await until(() => lines.length > 0);
    expect(lines[0]).toContain('Namespace \\"shop\\" is disabled');
    expect(claims).toBe(0);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const enable = `${server.url}/holdfast.v1.NamespaceService/EnableNamespace`;
    expect((await fetch(enable, { method: "POST", headers, body: '{"namespace":"shop"}' })).status).toBe(200);
    expect(await hf.run(double, 4)).toBe(8);
  });
});

describe("limits of calls", () => {
  test("slow down starts, and never commits and heartbeats", async () => {
    const { url, opened } = await served({ limits: { starts: { perSecond: 50, burst: 2 } } });
    const { token } = await key(opened, "worker", "shop");
    const hf = await client(url, { namespace: "shop", token });
    await hf.worker({ workflows: [double] }).start();
    const began = systemPorts.clock.monotonic();
    for (let i = 0; i < 7; i += 1) await hf.start(double, i, { id: `d${i}` });
    // Two at once, and five more at fifty a second.
    expect(systemPorts.clock.monotonic() - began).toBeGreaterThan(80);
    expect(await hf.get("d6").result()).toBe(12);
  });

  test("have none for what a lease or a result depends on", () => {
    for (const method of ["runs.commit", "workers.heartbeat", "tasks.finish", "tasks.beat"] as const)
      expect([method, isLimited(method)]).toEqual([method, false]);
  });
});

async function forever(call: () => Promise<unknown>): Promise<never> {
  for (;;) await call();
}
