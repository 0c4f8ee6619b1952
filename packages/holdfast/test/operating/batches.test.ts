import { type BatchResult, isHoldfastError, jsonCodec, signal, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const go = signal<string>("go");
const wait = workflow("wait", async (ctx) => {
  const got: string[] = [];
  for (;;) {
    const text = await ctx.receive(go);
    if (text === "end") return got;
    got.push(text);
  }
});
const fails = workflow("fails", async (ctx, mood: { bad: boolean }) => {
  await ctx.step(
    "work",
    () => {
      if (moods.get(ctx.info.id) ?? mood.bad) throw new Error("declined");
    },
    { retry: "none" },
  );
});
const moods = new Map<string, boolean>();
const brief = workflow("brief", async () => "done");

const whole = (result: BatchResult): number => result.done + result.skippedCount;

async function engineWith(ids: readonly string[]) {
  const t = await openEngine(wait, brief, fails);
  for (const id of ids) await t.client.start(wait, undefined, { id });
  await t.clock.settle();
  return t;
}

test("a signal reaches every run that matches, once, and the batch says what it did", async () => {
  const t = await engineWith(["a", "b", "c"]);
  await t.client.run(brief, undefined, { id: "brief" });
  const result = await t.client.batch({ workflow: "wait" }).signal(go, "hello");
  expect(result).toEqual({ id: expect.any(String), matched: 3, done: 3, skipped: [], skippedCount: 0 });
  await t.client.batch({ workflow: "wait", id: "a" }).signal(go, "end");
  expect(await t.client.get("a").result()).toEqual(["hello"]);
  expect(await t.client.get("b").status()).toBe("waiting");
});

test("runs that have ended are skipped with the code that the action gets for them", async () => {
  const t = await engineWith(["open"]);
  const { runId } = await t.client.start(brief, undefined, { id: "ended" });
  await t.client.get("ended").result();
  for (const action of ["cancel", "terminate", "pause", "resume"] as const)
    expect(await t.client.batch({ id: "ended" })[action]()).toMatchObject({
      ...{ matched: 1, done: 0, skippedCount: 1 },
      skipped: [{ runId, code: "run_closed" }],
    });
  expect(await t.client.batch({ id: "ended" }).retry()).toMatchObject({ skipped: [{ runId, code: "run_not_failed" }] });
  const all = await t.client.batch({}).cancel({ by: "ana", reason: "enough" });
  expect(all).toMatchObject({ matched: 2, done: 1, skipped: [{ runId, code: "run_closed" }] });
  await expect(t.client.get("open").result()).rejects.toMatchObject({
    code: "run_canceled",
    data: { reason: "enough" },
  });
  const history = await t.client.get("open").history();
  expect(history.find(({ type }) => type === "cancel_requested")).toMatchObject({
    data: { by: "ana", reason: "enough" },
  });
});

test("pause, resume and terminate say in the history who did it, why, and which batch", async () => {
  const t = await engineWith(["a"]);
  const who = { by: "ana", reason: "a break" };
  await t.client.batch({ status: "waiting" }).pause({ ...who, id: "pausing" });
  expect(await t.client.get("a").describe()).toMatchObject({ status: "parked", error: { code: "paused" } });
  expect(await t.client.batch({ status: "parked" }).pause()).toMatchObject({ done: 1 });
  await t.client.batch({ status: "parked" }).resume({ ...who, id: "resuming" });
  await t.client.batch({ workflow: "wait" }).terminate({ ...who, id: "terminating" });
  const batches = await Promise.all(
    ["pausing", "resuming", "terminating"].map(async (id) => (await t.client.batchRun(id).describe()).runId),
  );
  const said = (await t.client.get("a").history()).filter(({ data }) => data !== undefined);
  expect(said.map(({ type, data }) => [type, data])).toEqual([
    ["run_parked", { ...who, batch: batches[0] }],
    ["run_resumed", { ...who, batch: batches[1] }],
    ["run_terminated", { ...who, batch: batches[2] }],
  ]);
});

test("failed runs are retried, and others are not", async () => {
  const t = await openEngine(fails);
  for (const id of ["x", "y"])
    await t.client.start(fails, { bad: true }, { id }).then((run) => run.result().catch(() => {}));
  const { runId } = await t.client.start(fails, { bad: false }, { id: "z" });
  await t.client.get("z").result();
  for (const id of ["x", "y"]) moods.set(id, false);
  const result = await t.client.batch({ workflow: "fails" }).retry({ by: "ana" });
  expect(result).toMatchObject({ matched: 3, done: 2, skipped: [{ runId, code: "run_not_failed" }] });
  for (const id of ["x", "y"]) await t.client.get(id).result();
  expect(await t.client.count({ workflow: "fails", status: "completed" })).toBe(3);
  moods.clear();
});

test("a purge takes the runs that have ended, and no others", async () => {
  const t = await engineWith(["open"]);
  for (const id of ["b1", "b2"]) await t.client.run(brief, undefined, { id });
  const { runId } = await t.client.get("open").describe();
  const result = await t.client.batch({}).purge();
  expect(result).toMatchObject({ matched: 3, done: 2, skipped: [{ runId, code: "run_not_closed" }] });
  expect((await t.client.list()).runs.map(({ id }) => id)).toEqual(["open"]);
});

test("a dry run counts, and does and keeps nothing", async () => {
  const t = await engineWith(["a", "b"]);
  expect(await t.client.batch({ workflow: "wait" }).terminate({ dryRun: true })).toEqual({
    ...{ id: expect.any(String), matched: 2, done: 0, skipped: [], skippedCount: 0 },
  });
  expect(await t.client.count({ status: "waiting" })).toBe(2);
  expect(await t.client.count({ workflow: "holdfast.batch" })).toBe(0);
});

test("perSecond holds: so many runs each second, by the clock", async () => {
  const t = await engineWith(Array.from({ length: 10 }, (_, i) => `r${i}`));
  const began = t.clock.now();
  expect(await t.client.batch({ workflow: "wait" }).signal(go, "hi", { perSecond: 2 })).toMatchObject({ done: 10 });
  expect(t.clock.now() - began).toBe(4_000);
  const at = new Map<number, number>();
  for (let i = 0; i < 10; i++) {
    const event = (await t.client.get(`r${i}`).history()).find(({ type }) => type === "signal_received");
    const second = ((event?.at.getTime() ?? 0) - began) / 1_000;
    at.set(second, (at.get(second) ?? 0) + 1);
  }
  expect([...at].sort(([a], [b]) => a - b)).toEqual([0, 1, 2, 3, 4].map((second) => [second, 2]));
});

test("progress is told as the batch goes on, and what the function throws does no harm", async () => {
  const t = await engineWith(Array.from({ length: 6 }, (_, i) => `r${i}`));
  const told: BatchResult[] = [];
  const onProgress = (progress: BatchResult): void => {
    told.push(progress);
    throw new Error("my own mistake");
  };
  const id = "slow";
  const result = await t.client.batch({ workflow: "wait" }).cancel({ id, perSecond: 2, onProgress });
  expect(told.map(({ done }) => done)).toEqual([2, 4, 6]);
  expect(told.every((one) => one.id === id && whole(one) === one.matched)).toBe(true);
  expect(told.at(-1)).toEqual(result);
  const rejected = async (): Promise<void> => Promise.reject(new Error("later"));
  expect(await t.client.batch({ workflow: "wait" }).cancel({ onProgress: rejected })).toMatchObject({ matched: 6 });
});

test("a call with the id of a batch gets its result, and nothing is done twice", async () => {
  const t = await engineWith(["a"]);
  const first = await t.client.batch({ workflow: "wait" }).signal(go, "once", { id: "nightly" });
  expect(await t.client.batch({ workflow: "wait" }).signal(go, "once", { id: "nightly" })).toEqual(first);
  await t.client.get("a").signal(go, "end");
  expect(await t.client.get("a").result()).toEqual(["once"]);
  const refused = { code: "batch_id_taken", data: { id: "nightly", action: "signal" } };
  await expect(t.client.batch({ workflow: "wait" }).signal(go, "twice", { id: "nightly" })).rejects.toMatchObject(
    refused,
  );
  await expect(t.client.batch({ workflow: "wait" }).cancel({ id: "nightly" })).rejects.toMatchObject(refused);
  await expect(t.client.batch({ status: "waiting" }).signal(go, "x", { id: "nightly" })).rejects.toMatchObject(refused);
});

test("runs that are started while the batch goes on are not met", async () => {
  const t = await engineWith(["old-1", "old-2", "old-3"]);
  await t.clock.advance("1s");
  const batch = t.client.batch({ workflow: "wait" }).cancel({
    perSecond: 1,
    onProgress: async ({ done }) => {
      if (done === 1) await t.client.start(wait, undefined, { id: "new" });
    },
  });
  expect(await batch).toMatchObject({ matched: 3, done: 3 });
  expect(await t.client.get("new").status()).toBe("waiting");
});

test("a batch is found by the name of its workflow alone, and purged like any run", async () => {
  const t = await engineWith(["a"]);
  await t.client.batch({}).signal(go, "hi", { id: "first" });
  expect(await t.client.count()).toBe(1);
  expect((await t.client.list()).runs.map(({ id }) => id)).toEqual(["a"]);
  const { runs } = await t.client.list({ workflow: "holdfast.batch" });
  expect(runs.map(({ id, status }) => [id, status])).toEqual([["first", "completed"]]);
  expect(await t.client.count({ workflow: "holdfast.batch", status: "completed" })).toBe(1);
  await t.clock.advance("2 days");
  expect(await t.client.purge({ olderThan: "1 day" })).toBe(0);
  expect(await t.client.count({ workflow: "holdfast.batch" })).toBe(0);
});

test("a batch can be paused and canceled itself: what is done stays done", async () => {
  const t = await engineWith(["a", "b", "c", "d"]);
  const onProgress = async ({ id, done }: BatchResult): Promise<void> => {
    if (done === 2) await t.client.batchRun(id).cancel("stop");
  };
  const batch = t.client.batch({ workflow: "wait" }).terminate({ id: "x", perSecond: 1, onProgress });
  await expect(batch).rejects.toMatchObject({ code: "run_canceled" });
  expect(await t.client.batchRun("x").status()).toBe("canceled");
  expect(await t.client.count({ status: "terminated" })).toBeLessThan(4);
});

test("a batch that has gone through many pages continues as new, and goes on where it was", async () => {
  const t = await engineWith(Array.from({ length: 250 }, (_, i) => `r${i}`));
  const told: number[] = [];
  const onProgress = ({ done }: BatchResult): void => void told.push(done);
  const result = await t.client.batch({ workflow: "wait" }).terminate({ id: "many", perSecond: 2, onProgress });
  expect(result).toEqual({ id: "many", matched: 250, done: 250, skipped: [], skippedCount: 0 });
  expect(told).toEqual(Array.from({ length: 125 }, (_, i) => 2 * i + 2));
  expect(await t.client.count({ status: "terminated" })).toBe(250);
  const { runs } = await t.client.list({ workflow: "holdfast.batch" });
  expect(runs.map(({ status }) => status)).toEqual(["completed", "continued"]);
  for (const { runId } of runs) expect(t.store.state.events.get(runId)?.length).toBeLessThanOrEqual(400);
  const batches = [...t.store.state.runs.values()]
    .filter(({ id }) => id === "many")
    .map(({ firstRunId }) => firstRunId);
  const ends = await Promise.all(
    ["r0", "r249"].map(async (id) => (await t.client.get(id).history()).at(-1)?.data?.batch),
  );
  expect(new Set([...batches, ...ends]).size).toBe(1);
});

test("the payload of a signal passes through the codec, in the batch and on its way", async () => {
  const fleet = openFleet();
  const seen: string[] = [];
  const codec = {
    name: "watched",
    encode: (value: unknown, where: string) => {
      const bytes = jsonCodec.encode(value, where);
      return Uint8Array.from(bytes, (byte) => byte ^ 0x55);
    },
    decode: (bytes: Uint8Array) => jsonCodec.decode(Uint8Array.from(bytes, (byte) => byte ^ 0x55)),
  };
  await fleet.worker({ workflows: [wait] }, { codec });
  const client = fleet.client({ codec });
  const run = await client.start(wait, undefined, { id: "a" });
  await fleet.clock.settle();
  await fleet.clock.until(client.batch({}).signal(go, "top secret"));
  await run.signal(go, "end");
  expect(await fleet.result(run)).toEqual(["top secret"]);
  for (const { input, output } of fleet.store.state.runs.values())
    for (const bytes of [input, output]) seen.push(new TextDecoder().decode(bytes ?? new Uint8Array()));
  for (const events of fleet.store.state.events.values())
    for (const { payload } of events) seen.push(new TextDecoder().decode(payload ?? new Uint8Array()));
  for (const messages of fleet.store.state.inbox.values())
    for (const { payload } of messages) seen.push(new TextDecoder().decode(payload));
  expect(seen.length).toBeGreaterThan(5);
  expect(seen.filter((text) => text.includes("secret"))).toEqual([]);
});

test("what is wrong with a filter or an option is said before anything is written", async () => {
  const t = await engineWith(["a"]);
  const { client } = t;
  const calls: Record<string, () => Promise<unknown>> = {
    'there is no option "stats". Did you mean `status`?': () => client.batch({ stats: "failed" } as never).cancel(),
    "batch: the options are missing": () => client.batch(undefined as never).cancel(),
    'status is "fail"': () => client.batch({ status: "fail" as never }).cancel(),
    "perSecond is 0; it must be a whole number from 1 up": () => client.batch({}).cancel({ perSecond: 0 }),
    "onProgress is 1, not a function": () => client.batch({}).pause({ onProgress: 1 as never }),
    "dryRun is 1": () => client.batch({}).resume({ dryRun: 1 as never }),
    "the reason is 7, not a string": () => client.batch({}).terminate({ reason: 7 as never }),
    "The id of the batch": () => client.batch({}).purge({ id: "" }),
    "not a signal": () => client.batch({}).signal("go" as never),
    "a batch never acts on batches": () => client.batch({ workflow: "holdfast.batch" }).cancel(),
    'payload of signal "go"': () => client.batch({}).signal(go, (() => {}) as never),
  };
  for (const [message, call] of Object.entries(calls)) {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(isHoldfastError(error), message).toBe(true);
    expect((error as Error).message).toContain(message);
  }
  expect(await client.count({ workflow: "holdfast.batch" })).toBe(0);
  expect(() => workflow("holdfast.batch", async () => {})).toThrow('begins with "holdfast.", which is reserved');
});
