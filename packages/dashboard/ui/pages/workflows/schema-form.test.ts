import { expect, test } from "vitest";
import { fieldsOf, inputOf } from "./schema-form.ts";

const ORDER = {
  type: "object",
  required: ["id", "cents"],
  properties: {
    id: { type: "string", description: "Its number", minLength: 2 },
    cents: { type: "integer", minimum: 1, maximum: 100 },
    express: { type: "boolean", default: false },
    region: { enum: ["eu", "us"] },
    at: { type: "string", format: "date-time" },
    address: { type: "object", required: ["zip"], properties: { zip: { type: "string" } } },
    lines: { type: "array", items: { type: "string" } },
  },
} as const;

const fill = (texts: Record<string, string>, schema: object = ORDER) => {
  const fields = fieldsOf(schema as Record<string, unknown>);
  return inputOf(
    fields,
    fields.map(({ path, initial }) => texts[path.join(".")] ?? initial),
  );
};

test("each property is a field of its type", () => {
  expect(fieldsOf(ORDER).map(({ path, type, required }) => [path.join("."), type, required])).toEqual([
    ["id", "text", true],
    ["cents", "integer", true],
    ["express", "boolean", false],
    ["region", "choice", false],
    ["at", "date-time", false],
    ["address.zip", "text", false],
    ["lines", "json", false],
  ]);
});

test("what is filled in becomes the input, and what is empty is left out", () => {
  expect(fill({ id: "o-1", cents: "99", region: '"eu"', "address.zip": "10115", lines: '["a"]' })).toEqual({
    input: { id: "o-1", cents: 99, express: false, region: "eu", address: { zip: "10115" }, lines: ["a"] },
    problems: [],
  });
});

test("each problem names its field", () => {
  const { problems } = fill({ id: "o", cents: "1.5", at: "soon", lines: "[1,\n 2" });
  expect(problems.map(({ field, problem }) => [field, problem])).toEqual([
    [0, "This must have at least 2 characters."],
    [1, "This must be a whole number."],
    [4, "This is not a time: 2026-11-18T09:30:00Z."],
    [6, expect.stringMatching(/^Line \d+, column \d+: /)],
  ]);
  expect(fill({ cents: "0" }).problems.map(({ problem }) => problem)).toEqual([
    "This is required.",
    "This must be at least 1.",
  ]);
  expect(fill({ id: "o-1", cents: "101" }).problems).toHaveLength(1);
  expect(fill({ id: "o-1", cents: "1e999" }).problems).toHaveLength(1);
});

test("without a schema the input is one field of JSON, and may be empty", () => {
  const fields = fieldsOf(null);
  expect(fields.map(({ type, path }) => [type, path])).toEqual([["json", []]]);
  expect(inputOf(fields, ['{"a":1}'])).toEqual({ input: { a: 1 }, problems: [] });
  expect(inputOf(fields, [""])).toEqual({ input: undefined, problems: [] });
  expect(inputOf(fields, ["{"]).problems).toHaveLength(1);
});

test("an input that is not an object has a field of its own type", () => {
  expect(fill({ "": "ann" }, { type: "string" })).toEqual({ input: "ann", problems: [] });
  expect(fill({ "": "7" }, { type: "number" })).toEqual({ input: 7, problems: [] });
});

test("unions and references are JSON", () => {
  expect(fieldsOf({ anyOf: [{ type: "string" }, { type: "number" }] })[0]?.type).toBe("json");
  expect(fieldsOf({ type: "object", properties: { a: { $ref: "#/x" } } })[0]?.type).toBe("json");
});

test("a schema that is nonsense is a field of JSON", () => {
  expect(fieldsOf({ type: 7, properties: "x" } as never)[0]?.type).toBe("json");
  expect(fieldsOf({ type: "object", properties: { a: null } } as never)[0]?.type).toBe("json");
});

test("a schema with hundreds of fields is one field of JSON", () => {
  const properties = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, { type: "string" }]));
  expect(fieldsOf({ type: "object", properties })).toHaveLength(1);
});

test("__proto__ is a name like others", () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"object","properties":{"x":{"type":"string"}}}}}',
  );
  const { input } = fill({ "__proto__.x": "y" }, schema) as { input: object };
  expect(Object.keys(input)).toEqual(["__proto__"]);
  expect(JSON.stringify(input)).toBe('{"__proto__":{"x":"y"}}');
  expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
});

test("a pattern that would never end is not tried", () => {
  const schema = { type: "string", pattern: "^(a+)+$" };
  expect(fill({ "": `${"a".repeat(40)}!` }, schema)).toMatchObject({ problems: [] });
});
