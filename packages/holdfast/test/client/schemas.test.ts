import { type } from "arktype";
import { signal, workflow } from "holdfast";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openEngine } from "../lab/fleet.ts";

const good = { id: "o-1", items: [{ price: 5, name: "tea" }] };
const bad = {
  id: 7,
  items: [
    { price: 5, name: "tea" },
    { price: "dear", name: 1 },
  ],
} as never;

const byZod = workflow(
  {
    name: "zod",
    input: z.object({ id: z.string(), items: z.array(z.object({ price: z.number(), name: z.string() })) }),
  },
  async (_ctx, input) => input.items.length,
);
const byValibot = workflow(
  {
    name: "valibot",
    input: v.object({ id: v.string(), items: v.array(v.object({ price: v.number(), name: v.string() })) }),
  },
  async (_ctx, input) => input.items.length,
);
const byArktype = workflow(
  { name: "arktype", input: type({ id: "string", items: type({ price: "number", name: "string" }).array() }) },
  async (_ctx, input) => input.items.length,
);

describe.each([
  ["zod", byZod],
  ["valibot", byValibot],
  ["arktype", byArktype],
] as const)("input checked by a schema of %s", (_library, definition) => {
  test("is accepted when it fits", async () => {
    const t = await openEngine(definition);
    expect(await t.run(definition, good)).toBe(1);
  });

  test("is refused at the start with the path of every fault, and nothing is written", async () => {
    const t = await openEngine(definition);
    const error = await t.client.start(definition, bad).catch((reason) => reason);
    expect(error).toMatchObject({ code: "invalid_input", kind: "ValidationError" });
    const { issues } = error.data as { issues: { path: string; message: string }[] };
    expect(issues.map(({ path }) => path).toSorted()).toEqual(["id", "items[1].name", "items[1].price"]);
    for (const { path, message } of issues) expect(error.message).toContain(`  - ${path}: ${message}`);
    expect(error.message).toContain(`"${definition.name}" is not valid:`);
    expect(t.store.calls["runs.start"]).toBeUndefined();
  });
});

describe("a schema", () => {
  test("may convert and fill in: the workflow gets what the schema made of the input", async () => {
    const input = z.object({ at: z.coerce.date(), n: z.number().default(3) });
    const made = workflow({ name: "made", input }, async (_ctx, { at, n }) => [at.getTime(), n]);
    const t = await openEngine(made);
    expect(await t.run(made, { at: "2030-01-01T00:00:00Z" })).toEqual([Date.UTC(2030, 0, 1), 3]);
  });

  test("may be asynchronous for input", async () => {
    const input = z.string().refine(async (text) => text !== "taken", "is taken");
    const name = workflow({ name: "name", input }, async (_ctx, text) => text);
    const t = await openEngine(name);
    expect(await t.run(name, "free")).toBe("free");
    await expect(t.run(name, "taken")).rejects.toMatchObject({
      code: "invalid_input",
      data: { issues: [{ path: "", message: "is taken" }] },
    });
  });

  test("is applied to a start by name as well, when the worker is here", async () => {
    const t = await openEngine(byZod);
    await expect(t.client.start("zod", { id: 1 })).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("of the output fails a run that returns something else, with the path of the fault", async () => {
    const output = z.object({ total: z.number() });
    const sum = workflow({ name: "sum", output }, async () => ({ total: "12" }) as never);
    const t = await openEngine(sum);
    await expect(t.run(sum)).rejects.toMatchObject({
      cause: { code: "invalid_output", message: expect.stringContaining("total: ") },
    });
  });

  test("of a signal refuses a payload that does not fit, before it is sent", async () => {
    const approve = signal("approve", z.object({ by: z.string() }));
    const wait = workflow("wait", async (ctx) => (await ctx.receive(approve)).by);
    const t = await openEngine(wait);
    const run = await t.client.start(wait);
    await expect(run.signal(approve, { by: 5 as never })).rejects.toMatchObject({
      code: "invalid_signal",
      data: { issues: [{ path: "by" }] },
    });
    expect(t.store.calls["inbox.deliver"]).toBeUndefined();
    await run.signal(approve, { by: "ann" });
    expect(await run.result()).toBe("ann");
  });
});
