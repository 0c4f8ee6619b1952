import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonCodec } from "./json-codec.ts";

const text = (value: unknown) => new TextDecoder().decode(jsonCodec.encode(value, "value"));
const roundTrip = (value: unknown) => jsonCodec.decode(jsonCodec.encode(value, "value"));

describe("any value", () => {
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

  it("is encoded to the same bytes every time, also after a round trip", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(text(roundTrip(value))).toBe(text(value));
      }),
      { numRuns: 300 },
    );
  });

  it("is plain JSON text exactly when it holds nothing else", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        fc.pre(
          !JSON.stringify(value).includes('"$hf"') &&
            !JSON.stringify(value, (_, v) => (Object.is(v, -0) ? "-0" : v)).includes('"-0"'),
        );
        expect(text(value)).toBe(JSON.stringify(value));
      }),
    );
  });
});
