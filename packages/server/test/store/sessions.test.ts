import { Buffer } from "node:buffer";
import { HoldfastError, hookedStore } from "holdfast/adapter";
import { VirtualClock } from "holdfast/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryStore } from "./served-store.ts";
import { cutOnce, gated, newId, open, register, start, until, WORKER } from "./session-lab.ts";
import { Wire } from "./wire.ts";

describe("a reply that is lost", () => {
  test("of a call that never reached the network is store_unavailable: nothing happened", async () => {
    const { wire, store } = await open();
    wire.down = true;
    wire.cut();
    await until(() => wire.service.sessions === 0);
    await expect(start(store)).rejects.toMatchObject({ code: "store_unavailable", data: { unreachable: true } });
  });

  test("of a write that was sent is store_outcome_unknown, whether or not it arrived", async () => {
    for (const side of ["request", "response"] as const) {
      const { wire, store, behind } = await open();
      const runId = newId();
      wire.faults = { [side]: cutOnce<{ readonly call: number }>(({ call }) => call > 0) };
      const lost = { code: "store_outcome_unknown", data: { call: "runs.start", unreachable: true } };
      await expect(start(store, runId)).rejects.toMatchObject(lost);
      const ref = { namespace: "default", runId };
      const [row] = await behind.store.runs.read({ runs: [ref] });
      expect(row === null).toBe(side === "request");
      // The same call through the next session finds what the first one did, or does it now.
      expect(await start(store, runId)).toMatchObject({ outcomes: [{ outcome: "created" }] });
      expect(await behind.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    }
  });

  test("of a read is store_unavailable, because nothing depends on it", async () => {
    const { wire, store } = await open();
    wire.faults = { response: cutOnce((message) => message.call > 0) };
    await expect(store.runs.count({ namespace: "default", atMost: null })).rejects.toMatchObject({
      code: "store_unavailable",
    });
    expect(await store.runs.count({ namespace: "default", atMost: null })).toBe(0);
  });
});

describe("a call that is late", () => {
  test("is not made: nobody waits for it any more", async () => {
    const clock = new VirtualClock();
    const gate = gated();
    let commits = 0;
    const { store } = await open({
      clock,
      around: (inner) =>
        hookedStore(inner, {
          "runs.commit": async (_, call) => {
            commits += 1;
            await gate.opened;
            return call();
          },
        }),
    });
    const parts: Promise<unknown>[] = [];
    for (let i = 0; i < 4; i += 1) {
      parts.push(store.runs.commit({ commits: [] }).catch((error: unknown) => error));
      await clock.settle();
    }
    // Two are in flight, and two wait in the server.
    expect(commits).toBe(2);
    await clock.advance("31s");
    gate.open();
    for (const answer of await clock.until(Promise.all(parts)))
      expect(answer).toMatchObject({ code: "store_outcome_unknown", data: { call: "runs.commit" } });
    await clock.settle();
    expect(commits).toBe(2);
  });
});

describe("a session that is silent", () => {
  test("while somebody waits is given up after a third of the shortest lease, and opened again", async () => {
    const clock = new VirtualClock();
    const { wire, store } = await open({ clock, tenant: true });
    await clock.until(register(store, { leaseMs: 6_000 }));
    wire.silent = true;
    const beat = store.workers
      .heartbeat({ namespace: "default", workerId: WORKER, leaseMs: 6_000, draining: false })
      .catch((error: unknown) => error);
    const began = clock.now();
    expect(await clock.until(beat)).toMatchObject({ code: "store_outcome_unknown" });
    expect(clock.now() - began).toBeLessThanOrEqual(2_500);
    wire.silent = false;
    expect(await clock.until(store.readClock())).toMatchObject({ now: expect.any(Number) });
    expect(wire.opened).toBe(2);
  });

  test("and idle is asked for a sign of life every 20 seconds, and kept", async () => {
    const clock = new VirtualClock();
    const { wire, store } = await open({ clock });
    await clock.advance("70s");
    const pings = wire.requests.filter(({ control }) => control.case === "ping");
    expect(pings.length).toBeGreaterThanOrEqual(3);
    expect(pings.length).toBeLessThanOrEqual(4);
    expect(wire.opened).toBe(1);
    expect(await clock.until(store.readClock())).toBeDefined();
  });

  test("and idle, with nobody at the other end, is replaced before anybody needs it", async () => {
    const clock = new VirtualClock();
    const { wire, store } = await open({ clock });
    wire.silent = true;
    await clock.advance("29s");
    wire.silent = false;
    await clock.advance("5s");
    expect(wire.opened).toBe(2);
    expect(await clock.until(store.readClock())).toBeDefined();
  });
});

describe("a server that goes", () => {
  test("answers what it has, while new calls go to the next session", async () => {
    const gate = gated();
    const { wire, store } = await open({
      around: (inner) =>
        hookedStore(inner, {
          "runs.count": async (_, call) => {
            await gate.opened;
            return call();
          },
        }),
    });
    const slow = store.runs.count({ namespace: "default", atMost: null });
    await store.readClock();
    const next = new Wire(memoryStore());
    const drained = wire.service.drain();
    await until(() => wire.opened === 2);
    gate.open();
    expect(await slow).toBe(0);
    expect(await store.readClock()).toBeDefined();
    next.service.close();
    wire.service.close();
    await drained;
  });

  test("sends sessions away after 30 minutes, give or take, and nobody notices", async () => {
    const clock = new VirtualClock();
    const { wire, store } = await open({ clock });
    await clock.advance("40m");
    expect(wire.responses.filter(({ control }) => control.case === "goAway").length).toBeGreaterThanOrEqual(1);
    expect(wire.opened).toBeGreaterThanOrEqual(2);
    expect(wire.service.sessions).toBe(1);
    expect(await clock.until(store.readClock())).toBeDefined();
  });
});

describe("large messages", () => {
  test("travel in parts, and heartbeats go between them", async () => {
    const { wire, store } = await open();
    await register(store, {});
    const large = start(store, newId(), new Uint8Array(1_500_000).fill(7));
    const beat = store.workers.heartbeat({ namespace: "default", workerId: WORKER, leaseMs: 60_000, draining: false });
    expect(await beat).toMatchObject({ live: true });
    expect(await large).toMatchObject({ outcomes: [{ outcome: "created" }] });
    const calls = wire.requests
      .filter(({ call }) => call > 0)
      .map(({ method, body }) => [method, body.length] as const);
    const parts = calls.slice(1);
    expect(Math.max(...parts.map(([, bytes]) => bytes))).toBeLessThanOrEqual(256 * 1024);
    const place = parts.findIndex(([method]) => method === "workers.heartbeat");
    expect(place).toBeGreaterThanOrEqual(0);
    expect(place).toBeLessThan(parts.length - 1);
  });

  test("come back in parts as well", async () => {
    const { store } = await open();
    const input = Uint8Array.from({ length: 1_900_000 }, (_, i) => i % 251);
    const runId = newId();
    await start(store, runId, input);
    const [run] = await store.runs.read({ runs: [{ namespace: "default", runId }] });
    expect(Buffer.compare(run?.input as Uint8Array, input)).toBe(0);
  });

  test("with a payload over 2 MiB are refused before they are sent, naming both sizes", async () => {
    const { wire, store } = await open();
    const before = wire.requests.length;
    const refused = start(store, newId(), new Uint8Array(2 * 1024 * 1024 + 1));
    await expect(refused).rejects.toMatchObject({
      code: "store_refused",
      data: { bytes: 2 * 1024 * 1024 + 1, max: 2 * 1024 * 1024 },
    });
    expect(wire.requests.length).toBe(before);
  });

  test("over 64 MiB are refused by a server that gets them all the same, and the session goes on", async () => {
    const { wire, store } = await open({ limits: { callBytesMax: 600_000 } });
    // A client that does not know the limit.
    const welcome = wire.responses.find(({ control }) => control.case === "welcome");
    expect(welcome?.control).toMatchObject({ value: { limits: { callBytesMax: 600_000 } } });
    await expect(start(store, newId(), new Uint8Array(700_000))).rejects.toMatchObject({
      code: "store_refused",
      data: { max: 600_000 },
    });
    expect(await store.readClock()).toBeDefined();
    expect(wire.opened).toBe(1);
  });
});

describe("back pressure", () => {
  test("a client has at most 60 calls in flight, and heartbeats go ahead of the rest", async () => {
    const gate = gated();
    let reading = 0;
    const { store } = await open({
      around: (inner) =>
        hookedStore(inner, {
          "runs.count": async (_, call) => {
            reading += 1;
            await gate.opened;
            return call();
          },
        }),
    });
    await register(store, {});
    const reads = Array.from({ length: 200 }, () => store.runs.count({ namespace: "default", atMost: null }));
    await until(() => reading === 60);
    const beat = await store.workers.heartbeat({
      namespace: "default",
      workerId: WORKER,
      leaseMs: 60_000,
      draining: false,
    });
    expect(beat).toMatchObject({ live: true });
    expect(reading).toBe(60);
    gate.open();
    expect(await Promise.all(reads)).toEqual(reads.map(() => 0));
  });
});

describe("a session that says nothing", () => {
  test("is ended after ten seconds", async () => {
    const clock = new VirtualClock();
    const wire = new Wire(memoryStore(clock), { clock });
    let closed = false;
    await wire.openLink({
      data: () => {},
      drained: () => {},
      closed: () => {
        closed = true;
      },
    });
    await clock.advance("9s");
    expect([closed, wire.service.sessions]).toEqual([false, 1]);
    await clock.advance("2s");
    expect([closed, wire.service.sessions]).toEqual([true, 0]);
  });
});

describe("an error of the store", () => {
  test("answers its call, with its code and its data, and nothing more", async () => {
    const { store, wire } = await open({
      around: (inner) =>
        hookedStore(inner, {
          "runs.count": async () => {
            throw new HoldfastError("store_unavailable", "too many connections", { data: { retryAfterMs: 70 } });
          },
          "runs.list": async () => {
            throw new TypeError("secret of the server");
          },
        }),
    });
    await expect(store.runs.count({ namespace: "default", atMost: null })).rejects.toMatchObject({
      code: "store_unavailable",
      message: "too many connections",
      data: { retryAfterMs: 70 },
    });
    const odd = await store.runs.list({ namespace: "default", limit: 1 }).catch((error: unknown) => error);
    expect(odd).toMatchObject({ code: "store_refused" });
    expect(JSON.stringify(odd)).not.toContain("secret");
    expect(await store.readClock()).toBeDefined();
    expect(wire.opened).toBe(1);
  });
});

describe("a client of a server", () => {
  test("never sweeps and never leads: these are duties of the server", async () => {
    const { store, wire, behind } = await open({ tenant: true });
    await register(store, { coordinates: true });
    expect(await behind.store.workers.readLeader({})).toBeNull();
    expect(await store.workers.sweep({} as never)).toMatchObject({
      dead: 0,
      returned: 0,
      more: false,
      nextExpiryAt: null,
    });
    expect(await store.debts.read({ limit: 10 })).toEqual([]);
    expect(await store.tasks.expired({ limit: 10 })).toMatchObject({ tasks: [] });
    const asked = new Set(wire.requests.map(({ method }) => method));
    for (const duty of ["workers.sweep", "debts.read", "tasks.expired"]) expect(asked).not.toContain(duty);
  });

  test("whose version needs a call that the server does not have is told so", async () => {
    const wire = new Wire(memoryStore());
    onTestFinished(() => wire.service.close());
    const refused = wire.connect({ needs: ["runs.teleport"] } as never);
    await expect(refused).rejects.toMatchObject({ code: "store_unavailable", data: { missing: ["runs.teleport"] } });
  });

  test("has no transactions: a function cannot travel", async () => {
    const { store } = await open();
    expect(store.transact).toBeUndefined();
    expect(store.capabilities.transactions).toMatchObject({ kind: null, words: expect.stringContaining("server") });
  });
});
