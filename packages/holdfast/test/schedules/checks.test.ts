import { connect, isHoldfastError, silentLogger, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const named = workflow({ name: "named", input: z.object({ name: z.string() }) }, async (_ctx, { name }) => name);
const sized = workflow(
  { name: "sized", input: z.object({ name: z.string(), size: z.number().default(3) }) },
  async (_ctx, { size }) => size,
);
const counted = workflow({ name: "counted", input: z.object({ count: z.number() }) }, async (_ctx, { count }) => count);
const parsed = workflow({ name: "parsed", input: z.string().transform(Number) }, async (_ctx, n) => n);
const free = workflow("free", async (_ctx, input: unknown) => input);

async function noWorker() {
  const hf = await connect("memory:", { logger: silentLogger });
  const inputOf = async (id: string) => (await hf.schedules.get(id).describe()).input;
  return { hf, schedules: hf.schedules, inputOf };
}

describe("an update of a schedule checks", () => {
  test("the input that stays against the schema of another workflow", async () => {
    const { hf, schedules, inputOf } = await noWorker();
    const s = await schedules.create({ id: "s", workflow: free, input: { name: "ann" }, every: "1h" });
    await expect(s.update({ workflow: counted })).rejects.toMatchObject({ code: "invalid_input" });
    expect((await s.describe()).workflow).toBe("free");
    await s.update({ workflow: named });
    expect(await inputOf("s")).toEqual({ name: "ann" });
    await s.update({ workflow: sized });
    expect(await inputOf("s")).toEqual({ name: "ann", size: 3 });
    await s.update({ workflow: counted, input: { count: 1 } });
    expect(await s.describe()).toMatchObject({ workflow: "counted", input: { count: 1 } });
    await hf.close();
  });

  test("a new input against the schema of a workflow that only this client's calls have named", async () => {
    const { hf, schedules, inputOf } = await noWorker();
    await schedules.create({ id: "s", workflow: named, input: { name: "ann" }, every: "1h" });
    await expect(schedules.update("s", { input: { name: 5 } })).rejects.toMatchObject({ code: "invalid_input" });
    await schedules.update("s", { input: { name: "bob" } });
    expect(await inputOf("s")).toEqual({ name: "bob" });
    await schedules.update("s", { workflow: counted, input: { count: 1 } });
    await expect(schedules.update("s", { input: { count: "1" } })).rejects.toMatchObject({ code: "invalid_input" });
    await hf.close();
  });

  test("nothing again that the same schema has transformed", async () => {
    const { hf, schedules, inputOf } = await noWorker();
    await schedules.create({ id: "s", workflow: parsed, input: "5", every: "1h" });
    await schedules.update("s", { every: "2h", options: { priority: 1 } });
    expect(await inputOf("s")).toBe(5);
    await hf.close();
  });
});

async function refusal(call: Promise<unknown>): Promise<{ code: string; message: string; data: object }> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isHoldfastError(error)) throw new Error(`it should have been refused: ${error}`);
  return error;
}

describe("a refused schedule says", () => {
  test("which call and which option is wrong", async () => {
    const { hf, schedules } = await noWorker();
    const create = (options: object) =>
      refusal(schedules.create({ id: "s", workflow: "free", every: "1h", ...options }));
    expect((await create({ workflow: 5 })).message).toMatch(/^schedules\.create: workflow is number, not a workflow/);
    expect(await create({ options: { timeout: "0s" } })).toMatchObject({
      message: expect.stringMatching(/^schedules\.create: options\.timeout is "0s", which leaves the run no time/),
      data: { where: "schedules.create", option: "options.timeout" },
    });
    const long = "x".repeat(361);
    expect(await create({ id: long })).toMatchObject({ code: "invalid_name", data: { id: long } });
    await schedules.create({ id: "s", workflow: "free", every: "1h" });
    const update = (patch: object) => refusal(schedules.update("s", patch));
    expect((await update({ workflow: 5 })).message).toMatch(/^schedules\.update: workflow is number/);
    expect((await update({ options: { timeout: "0s" } })).message).toMatch(/^schedules\.update: options\.timeout/);
    await hf.close();
  });

  test("that names of Holdfast's own workflows are reserved", async () => {
    const { hf, schedules } = await noWorker();
    const create = schedules.create({ id: "s", workflow: "holdfast.batch", every: "1h" });
    expect(await refusal(create)).toMatchObject({ code: "invalid_name", data: { name: "holdfast.batch" } });
    expect(await refusal(hf.start("holdfast.batch"))).toMatchObject({ code: "invalid_name" });
    await hf.close();
  });

  test("nothing about attributes that Holdfast adds: 100 of one's own are allowed", async () => {
    const attributes = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`a${i}`, i]));
    const set = workflow("set", async (ctx) => ctx.set({ a0: "changed" }));
    const t = await testEngine({ workflows: [set] });
    const s = await t.client.schedules.create({ id: "s", workflow: set, every: "1h", options: { attributes } });
    const run = await s.trigger();
    await run.result();
    expect((await run.describe()).attributes).toMatchObject({ a0: "changed", a99: 99, "holdfast.schedule": "s" });
    const tooMany = { ...attributes, more: 1 };
    expect(await refusal(s.update({ options: { attributes: tooMany } }))).toMatchObject({ code: "invalid_option" });
    await t.close();
  });
});

test("types: a schedule says when, and the input is that of the workflow", async () => {
  const { hf, schedules } = await noWorker();
  // @ts-expect-error neither cron nor every nor at
  expect(await refusal(schedules.create({ id: "s", workflow: free }))).toMatchObject({ code: "invalid_schedule" });
  const s = await schedules.create({ id: "s", workflow: named, input: { name: "ann" }, at: new Date("2030-01-01") });
  // @ts-expect-error the count is a number
  expect(await refusal(s.update({ workflow: counted, input: { count: "1" } }))).toMatchObject({
    code: "invalid_input",
  });
  const wrong = { count: "1" };
  // @ts-expect-error the same by id
  expect(await refusal(schedules.update("s", { workflow: counted, input: wrong }))).toBeDefined();
  await schedules.update("s", { input: { name: "bob" } });
  await schedules.update("s", { workflow: "counted", input: 5 });
  await hf.close();
});
