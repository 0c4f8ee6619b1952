import { signal, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const approve = signal<{ by: string }>("approve");
const count = signal<number>("count");
const ping = signal("ping");

const collect = workflow("collect", async (ctx, n: number) => {
  const seen: number[] = [];
  while (seen.length < n) seen.push(await ctx.receive(count));
  return seen;
});

describe("a signal", () => {
  test("that is sent before anyone waits is kept, and many are received in the order of sending", async () => {
    const patient = workflow("patient", async (ctx) => {
      await ctx.sleep("first", "1h");
      return [await ctx.receive(count), await ctx.receive(count), await ctx.receive(count)];
    });
    const t = await openEngine(patient);
    const run = await t.client.start(patient);
    for (const n of [1, 2, 3]) await run.signal(count, n);
    expect(await run.result()).toEqual([1, 2, 3]);
  });

  test("wakes a run that waits for it, also after months and on another worker", async () => {
    const fleet = openFleet();
    const wait = workflow("wait", async (ctx) => ({ ok: await ctx.receive(approve), at: ctx.now() }));
    const first = await fleet.worker({ workflows: [wait] });
    const run = await fleet.client().start(wait);
    await fleet.clock.settle();
    expect(await run.describe()).toMatchObject({
      status: "waiting",
      waitingFor: ["receive:approve"],
      availableAt: null,
      workerId: null,
    });
    await fleet.clock.until(first.stop());
    await fleet.clock.advance("90 days");
    await fleet.worker({ workflows: [wait] });
    await run.signal(approve, { by: "ann" });
    expect(await fleet.result(run)).toEqual({ ok: { by: "ann" }, at: new Date(fleet.clock.now()) });
  });

  test("without payload gives true, so that nobody takes it for a timeout", async () => {
    const wait = workflow("wait", async (ctx) => [
      await ctx.receive(ping),
      await ctx.receive(ping, { timeout: "1h" }),
      await ctx.receive(ping, { timeout: "1h" }),
    ]);
    const t = await openEngine(wait);
    const run = await t.client.start(wait);
    await run.signal(ping);
    await run.signal(ping, undefined, { id: "p-1" });
    expect(await run.result()).toEqual([true, true, undefined]);
    const received = (await run.history()).filter(({ type }) => type === "signal_received");
    expect(received.map(({ value }) => value)).toEqual([true, true]);
    expect(await replay(wait, JSON.parse(JSON.stringify(await run.history())))).toEqual({
      output: [true, true, undefined],
    });
  });

  test.each([[null], [false], [0], [""], [[]], [{}]])("with the payload %j gives exactly that", async (payload) => {
    const any = signal<unknown>("any");
    const wait = workflow("wait", (ctx) => ctx.receive(any, { timeout: "1h" }));
    const t = await openEngine(wait);
    const run = await t.client.start(wait);
    await run.signal(any, payload);
    expect(await run.result()).toStrictEqual(payload);
  });

  test("that an earlier version has stored as nothing is still null: code that has seen it goes the same way", async () => {
    const decide = workflow("decide", async (ctx) => {
      const approval = await ctx.receive(ping, { timeout: "1h" });
      return approval ? ctx.step("send", () => "sent") : ctx.step("refund", () => "refunded");
    });
    const at = new Date(0);
    const history = [
      { seq: 0, type: "run_started", category: "workflow", op: null, at },
      { seq: 1, type: "timer_created", category: "timer", op: "receive:ping", at, fireAt: new Date(3_600_000) },
      { seq: 2, type: "signal_received", category: "signal", op: "ping", at, messageId: "m-1" },
      { seq: 3, type: "step_completed", category: "step", op: "refund", at, value: "refunded" },
    ] as const;
    expect(await replay(decide, history)).toEqual({ output: "refunded" });
  });

  test("sent twice with the same id is one signal; without an id it is two", async () => {
    const t = await openEngine(collect);
    const run = await t.client.start(collect, 4);
    await run.signal(count, 1, { id: "a" });
    await run.signal(count, 1, { id: "a" });
    await run.signal(count, 99, { id: "a" });
    await run.signal(count, 2);
    await run.signal(count, 2);
    await run.signal(count, 3, { id: "b" });
    expect(await run.result()).toEqual([1, 2, 2, 3]);
    await expect(run.signal(count, 3, { id: "b" })).resolves.toBeUndefined();
  });

  test("is another one than that of another name with the same id, also for the run that goes on as new", async () => {
    const paid = signal<number>("paid");
    const shipped = signal<number>("shipped");
    const order = workflow("order", async (ctx, hop: number) => {
      await ctx.receive(ping);
      if (hop < 2) ctx.continueAsNew(hop + 1);
      return [
        await ctx.receive(paid, { timeout: "1h" }),
        await ctx.receive(shipped, { timeout: "1h" }),
        await ctx.receive(paid, { timeout: "1h" }),
      ];
    });
    const t = await openEngine(order);
    const run = await t.client.start(order, 1, { id: "o" });
    await run.signal(paid, 1, { id: "order-7" });
    await run.signal(shipped, 2, { id: "order-7" });
    await run.signal(ping, undefined, { id: "order-7" });
    await run.signal(ping);
    await t.client.get("o").signal(shipped, 3, { id: "order-7" });
    await t.client.get("o").signal(paid, 4, { id: "order-7" });
    expect(await run.result()).toEqual([1, 2, undefined]);
    const received = (await t.client.get("o").history()).filter(({ type }) => type === "signal_received");
    expect(received.map(({ op, messageId }) => `${op} ${messageId}`)).toEqual(
      expect.arrayContaining(["paid order-7", "shipped order-7"]),
    );
  });

  test("of one name does not disturb those of another", async () => {
    const both = workflow("both", async (ctx) => {
      const second = await ctx.receive(count);
      const first = await ctx.receive(approve);
      return [first, second];
    });
    const t = await openEngine(both);
    const run = await t.client.start(both);
    await run.signal(approve, { by: "ann" });
    await run.signal(count, 7);
    expect(await run.result()).toEqual([{ by: "ann" }, 7]);
  });

  test("goes to the receive that has waited longest, one signal each", async () => {
    const two = workflow("two", (ctx) => Promise.all([ctx.receive(count), ctx.receive(count)]));
    const t = await openEngine(two);
    const run = await t.client.start(two);
    await t.clock.settle();
    await run.signal(count, 1);
    await t.clock.settle();
    expect(await run.status()).toBe("waiting");
    await run.signal(count, 2);
    expect(await run.result()).toEqual([1, 2]);
  });

  test("can be sent by anyone who knows the id, from any process", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [collect] });
    const run = await fleet.client().start(collect, 2, { id: "c-1" });
    await fleet.client().get("c-1").signal(count, 1);
    await fleet.client().get(collect, "c-1").signal(count, 2);
    expect(await fleet.result(run)).toEqual([1, 2]);
  });

  test("in a burst from many senders is delivered exactly once each", async () => {
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [collect] });
    const run = await fleet.client().start(collect, 300);
    const senders = [fleet.client(), fleet.client(), fleet.client()];
    const sent = Array.from({ length: 300 }, (_, i) => i);
    await Promise.all(sent.map((i) => senders[i % 3]?.get(run.id).signal(count, i)));
    const seen = await fleet.result(run);
    expect(seen.toSorted((a, b) => a - b)).toEqual(sent);
  });

  test("stands in history with its payload and its id", async () => {
    const t = await openEngine(collect);
    const run = await t.client.start(collect, 1);
    await run.signal(count, 5, { id: "once" });
    await run.result();
    expect((await run.history())[1]).toMatchObject({
      type: "signal_received",
      category: "signal",
      op: "count",
      value: 5,
      messageId: "once",
    });
  });
});

describe("a receive with a timeout", () => {
  const wait = workflow("wait", async (ctx) => {
    const ok = await ctx.receive(approve, { timeout: "3 days" });
    return { ok, at: ctx.now() };
  });

  test("gives undefined when the time is over", async () => {
    const t = await openEngine(wait);
    const began = t.clock.now();
    expect(await t.run(wait)).toEqual({ ok: undefined, at: new Date(began + 3 * 86_400_000) });
  });

  test("gives the signal when it comes in time, also when the run is only woken after the timeout", async () => {
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [wait] });
    const run = await fleet.client().start(wait);
    await fleet.clock.settle();
    await fleet.clock.until(first.stop());
    await fleet.clock.advance("2 days");
    await run.signal(approve, { by: "ann" });
    await fleet.clock.advance("2 days");
    await fleet.worker({ workflows: [wait] });
    expect(await fleet.result(run)).toMatchObject({ ok: { by: "ann" } });
  });

  test("leaves a signal that comes later for the next receive", async () => {
    const twice = workflow("twice", async (ctx) => [
      await ctx.receive(approve, { timeout: "1h" }),
      await ctx.receive(approve, { timeout: "1h" }),
    ]);
    const t = await openEngine(twice);
    const run = await t.client.start(twice);
    await t.clock.advance("90m");
    await run.signal(approve, { by: "bob" });
    expect(await run.result()).toEqual([undefined, { by: "bob" }]);
  });
});

describe("a signal that cannot be delivered", () => {
  test("because the run does not exist is refused with the id and the namespace", async () => {
    const t = await openEngine(collect);
    await expect(t.client.get("nobody").signal(count, 1)).rejects.toMatchObject({
      code: "run_not_found",
      message: 'There is no run "nobody" in namespace "default".',
    });
  });

  test("because the run has ended is refused with its status", async () => {
    const t = await openEngine(collect);
    const run = await t.client.start(collect, 0, { id: "done" });
    await run.result();
    await expect(run.signal(count, 1)).rejects.toMatchObject({
      code: "run_closed",
      message: 'Run "done" is completed; it accepts no more messages.',
    });
  });

  test("because its payload cannot be stored, or its id cannot be one, is refused before anything is written", async () => {
    const t = await openEngine(collect);
    const run = await t.client.start(collect, 1);
    await expect(run.signal(approve, { by: (() => {}) as never })).rejects.toMatchObject({
      code: "unserializable_value",
      message: expect.stringContaining('by in payload of signal "approve" is a function'),
    });
    await expect(run.signal(count, 1, { id: "" })).rejects.toMatchObject({
      code: "invalid_name",
      message: 'The message id "" is empty.',
    });
    expect(t.store.calls["inbox.deliver"]).toBeUndefined();
  });

  test("because its bytes cannot be read parks that run alone; the worker and its other runs go on", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [collect] });
    const client = fleet.client();
    const [poisoned, healthy] = await client.startMany([
      { workflow: collect, input: 1 },
      { workflow: collect, input: 1 },
    ]);
    await fleet.clock.settle();
    const codec = { name: "other", encode: () => Uint8Array.of(1, 2, 3), decode: () => undefined };
    await fleet
      .client({ codec })
      .get(poisoned?.id ?? "")
      .signal(count, 1);
    await fleet.clock.settle();
    expect(await poisoned?.describe()).toMatchObject({ status: "parked", error: { code: "codec_failed" } });
    await healthy?.signal(count, 2);
    expect(healthy && (await fleet.result(healthy))).toEqual([2]);
  });
});
