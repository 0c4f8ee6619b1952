import { describe, expect, it } from "vitest";
import { jsonCodec, payloadEncoding } from "./json-codec.ts";

const text = (value: unknown) => new TextDecoder().decode(jsonCodec.encode(value, "value"));
const bytes = (json: string) => new TextEncoder().encode(json);
const roundTrip = (value: unknown) => jsonCodec.decode(jsonCodec.encode(value, "value"));

describe("plain JSON", () => {
  it.each([null, true, 0, -1.5, 1e300, "", "text", [], {}, [1, [2, { a: null }]], { a: { b: ["c"] } }])(
    "writes %j as JSON.stringify does",
    (value) => {
      expect(text(value)).toBe(JSON.stringify(value));
      expect(roundTrip(value)).toStrictEqual(value);
    },
  );

  it("keeps values apart that are written one after the other, short and long", () => {
    const values = Array.from({ length: 2_000 }, (_, i) => ({ i, text: "ü€𝄞".repeat(i % 200) }));
    const encoded = values.map((value) => jsonCodec.encode(value, "value"));
    expect(encoded.map((payload) => jsonCodec.decode(payload))).toStrictEqual(values);
  });

  it("keeps half surrogate pairs, NUL and every other character", () => {
    const odd = '\ud800 \udc00 \u0000 \u2028 𝄞 ü "$hf"';
    expect(roundTrip({ [odd]: odd })).toStrictEqual({ [odd]: odd });
  });

  it("is zero bytes for undefined", () => {
    expect(jsonCodec.encode(undefined, "value")).toHaveLength(0);
    expect(jsonCodec.decode(new Uint8Array(0))).toBeUndefined();
  });
});

describe("values that JSON cannot hold", () => {
  it.each<[string, unknown, string]>([
    ["a Date", new Date(0), '{"$hf":"Date","v":"1970-01-01T00:00:00.000Z"}'],
    ["an invalid Date", new Date(Number.NaN), '{"$hf":"Date","v":null}'],
    ["the last Date", new Date(8.64e15), '{"$hf":"Date","v":"+275760-09-13T00:00:00.000Z"}'],
    ["a Map", new Map([["a", 1]]), '{"$hf":"Map","v":[["a",1]]}'],
    ["a Set", new Set([1, "a"]), '{"$hf":"Set","v":[1,"a"]}'],
    ["a BigInt", 2n ** 70n, '{"$hf":"BigInt","v":"1180591620717411303424"}'],
    ["bytes", new Uint8Array([0, 255, 16]), '{"$hf":"Uint8Array","v":"AP8Q"}'],
    ["floats", new Float64Array([1.5, Number.NaN]), '{"$hf":"Float64Array","v":"AAAAAAAA+D8AAAAAAAD4fw=="}'],
    ["an ArrayBuffer", new Uint8Array([1]).buffer, '{"$hf":"ArrayBuffer","v":"AQ=="}'],
    ["NaN", Number.NaN, '{"$hf":"Number","v":"NaN"}'],
    ["Infinity", Number.POSITIVE_INFINITY, '{"$hf":"Number","v":"Infinity"}'],
    ["-Infinity", Number.NEGATIVE_INFINITY, '{"$hf":"Number","v":"-Infinity"}'],
    ["-0", -0, '{"$hf":"Number","v":"-0"}'],
    ["a RegExp", /a\/b"/giu, '{"$hf":"RegExp","v":["a\\\\/b\\"","giu"]}'],
    ["a URL", new URL("https://a.example/x?y#z"), '{"$hf":"URL","v":"https://a.example/x?y#z"}'],
    ["undefined in an object", { a: undefined }, '{"a":{"$hf":"undefined"}}'],
    ["undefined in a list", [undefined], '[{"$hf":"undefined"}]'],
    ["an own $hf", { $hf: "Date", v: 1 }, '{"$hf":"Object","v":[["$hf","Date"],["v",1]]}'],
  ])("keeps %s, readably", (_, value, json) => {
    expect(text(value)).toBe(json);
    expect(roundTrip(value)).toStrictEqual(value);
    expect(roundTrip({ deep: [value, new Map([[value, value]])] })).toStrictEqual({
      deep: [value, new Map([[value, value]])],
    });
  });
});

describe("decoding", () => {
  it.each([
    "{",
    "nope",
    '{"$hf":"Widget","v":1}',
    '{"$hf":5}',
    '{"$hf":"Date"}',
    '{"$hf":"BigInt","v":"x"}',
    '{"$hf":"Map","v":[[1]]}',
    '{"$hf":"RegExp","v":["(","g"]}',
    '{"$hf":"URL","v":"::"}',
    '{"$hf":"Error","v":null}',
    '{"$hf":"constructor","v":"x"}',
    `${'{"$hf":"Set","v":['.repeat(5_000)}${"]}".repeat(5_000)}`,
  ])("refuses %.40s with a code", (json) => {
    expect(() => jsonCodec.decode(bytes(json))).toThrow(expect.objectContaining({ code: "codec_failed" }));
  });

  it("notices damaged text and other encodings", () => {
    const failed = expect.objectContaining({ code: "codec_failed" });
    expect(() => jsonCodec.decode(new Uint8Array([0x22, 0xff, 0x22]))).toThrow(failed);
    expect(() => jsonCodec.decode(new Uint8Array([4, 1, 2]))).toThrow(/binary-4/);
    expect(() => jsonCodec.decode(new Uint8Array([0]))).toThrow(failed);
  });

  it("reads plain JSON that somebody else wrote", () => {
    expect(jsonCodec.decode(bytes('\n { "a" : [1, "$hf"] }'))).toStrictEqual({ a: [1, "$hf"] });
  });

  it("tells encodings apart by the first byte", () => {
    expect([0x01, 0x08].map((mark) => payloadEncoding(new Uint8Array([mark, 0x7b])))).toEqual(["binary-1", "binary-8"]);
    expect(["{}", "\t1", "\n1", '"a"', ""].map((json) => payloadEncoding(bytes(json)))).toEqual(Array(5).fill("json"));
  });
});
