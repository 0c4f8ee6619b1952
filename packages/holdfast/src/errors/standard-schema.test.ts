import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type SchemaIssue, validateWith } from "./standard-schema.ts";

const schemas: [string, StandardSchemaV1][] = [
  ["zod", z.object({ id: z.string(), items: z.array(z.object({ price: z.number() })) })],
  ["valibot", v.object({ id: v.string(), items: v.array(v.object({ price: v.number() })) })],
  ["arktype", type({ id: "string", items: type({ price: "number" }).array() })],
];

const good = { id: "o-1", items: [{ price: 1 }] };
const bad = { id: 5, items: [{ price: 1 }, { price: 2 }, { price: 3 }, { price: "free" }] };

describe.each(schemas)("with %s", (_, schema) => {
  it("accepts what matches, without a promise", () => {
    expect(validateWith(schema, good)).toEqual({ ok: true, value: good });
  });

  it("names the path of every fault", async () => {
    const outcome = await validateWith(schema, bad);
    expect(outcome).toMatchObject({ ok: false });
    const issues: readonly SchemaIssue[] = outcome.ok ? [] : outcome.issues;
    expect(issues.map((issue) => issue.path).sort()).toEqual(["id", "items[3].price"]);
    expect(issues.every((issue) => issue.message.length > 0)).toBe(true);
  });

  it("gives the whole value an empty path", () => {
    expect(validateWith(schema, undefined)).toMatchObject({ ok: false, issues: [{ path: "" }] });
  });
});

describe("validateWith", () => {
  it("gives back what the schema made of the value", () => {
    expect(validateWith(z.object({ n: z.coerce.number().default(3) }), {})).toEqual({ ok: true, value: { n: 3 } });
    expect(validateWith(v.pipe(v.string(), v.trim()), " a ")).toEqual({ ok: true, value: "a" });
    expect(validateWith(type("string.numeric.parse"), "12")).toEqual({ ok: true, value: 12 });
  });

  it("waits for an asynchronous schema", async () => {
    const free = v.pipeAsync(
      v.string(),
      v.checkAsync(async (name) => name !== "taken", "already taken"),
    );
    const schema = v.objectAsync({ name: free });
    expect(await validateWith(schema, { name: "new" })).toEqual({ ok: true, value: { name: "new" } });
    expect(await validateWith(schema, { name: "taken" })).toEqual({
      ok: false,
      issues: [{ path: "name", message: "already taken" }],
    });
  });

  it("prints keys of every sort", () => {
    const schema: StandardSchemaV1 = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: () => ({ issues: [{ message: "no", path: ["x-id", { key: 0 }, Symbol("s"), { key: "a" }] }] }),
      },
    };
    expect(validateWith(schema, 1)).toEqual({
      ok: false,
      issues: [{ path: '["x-id"][0][Symbol(s)].a', message: "no" }],
    });
  });
});
