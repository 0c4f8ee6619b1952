import fc from "fast-check";
import type { Codec } from "holdfast";
import { json } from "holdfast/codecs";
import { describe, expect, it } from "vitest";
import { EVERY_CODEC } from "./every-codec.ts";

const leaves = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("$hf", "__proto__", "\ud800", "toString"),
  fc.double(),
  fc.integer(),
  fc.bigInt(),
  fc.boolean(),
  fc.constantFrom(null, undefined, Number.NaN, -0),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array(),
  fc.webUrl().map((url) => new URL(url)),
  fc.constantFrom(/a/g, /[$hf]\//u),
);
const keys = fc.oneof(fc.string(), fc.constantFrom("$hf", "v", "__proto__", "a"));
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaves,
    fc.array(tie("value"), { maxLength: 4 }),
    // fc.dictionary cannot make an own "__proto__"; Object.fromEntries can.
    fc.array(fc.tuple(keys, tie("value")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
    fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(tie("value"), { maxLength: 3 }).map((members) => new Set(members)),
  ),
}));

const roundTrip = (codec: Codec, value: unknown): unknown => codec.decode(codec.encode(value, "value"));

describe.each(EVERY_CODEC)("any value in %s", (_name, codec) => {
  it("comes back equal, and plain JSON reads as before", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(roundTrip(codec, value)).toStrictEqual(value);
        expect(codec.decode(json().encode(value, "value"))).toStrictEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it("shares nothing with what comes back", () => {
    const objectsIn = (value: unknown, found = new Set<object>()): Set<object> => {
      if (typeof value !== "object" || value === null || found.has(value)) return found;
      found.add(value);
      if (ArrayBuffer.isView(value)) found.add(value.buffer);
      else if (value instanceof Map) for (const entry of value) objectsIn([...entry], found);
      else if (value instanceof Set) for (const member of value) objectsIn(member, found);
      else for (const key of Object.keys(value)) objectsIn((value as Record<string, unknown>)[key], found);
      return found;
    };
    fc.assert(
      fc.property(values, (value) => {
        const before = objectsIn(value);
        for (const part of objectsIn(roundTrip(codec, value))) expect(before.has(part)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});
