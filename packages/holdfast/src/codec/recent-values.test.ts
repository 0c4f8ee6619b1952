import { describe, expect, it } from "vitest";
import { jsonCodec } from "./json-codec.ts";
import { flatCopy, RecentValues } from "./recent-values.ts";

const written = (value: unknown) => jsonCodec.encode(value, "value");

describe("a value that is read again", () => {
  it("is what its text is read as, the first time and every other time", () => {
    const values = [
      { b: 1, a: "x", 10: null, 2: true },
      {},
      { text: "\ud800 ü \u0000" },
      Object.assign(Object.create(null), { a: 1 }),
    ];
    for (const value of values) {
      const bytes = written(value);
      const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
      const first = jsonCodec.decode(bytes);
      expect(first).toStrictEqual(parsed);
      expect(Object.keys(first as object)).toEqual(Object.keys(parsed as object));
      expect(jsonCodec.decode(bytes)).toStrictEqual(parsed);
    }
  });

  it("is nobody else's: neither who wrote it nor who has read it before can change it", () => {
    const value = { a: 1 };
    const bytes = written(value);
    value.a = 2;
    const first = jsonCodec.decode(bytes) as typeof value;
    expect(first).toEqual({ a: 1 });
    first.a = 3;
    expect(jsonCodec.decode(bytes)).toEqual({ a: 1 });
  });

  it("is found among thousands, and read from its bytes if too many were written since", () => {
    const bytes = Array.from({ length: 3_000 }, (_, i) => written({ i }));
    for (const [i, one] of bytes.entries()) expect(jsonCodec.decode(one)).toEqual({ i });
    for (const [i, one] of [...bytes.entries()].reverse()) expect(jsonCodec.decode(one)).toEqual({ i });
  });

  it("is not taken for another one that begins at the same place", () => {
    const recent = new RecentValues(64);
    const [one, other] = [new Uint8Array(64), new Uint8Array(64)];
    recent.put(one.subarray(0, 3), { a: 1 });
    expect(recent.take(other.subarray(0, 3))).toBeUndefined();
    const [first, second] = [one.subarray(8, 10), one.subarray(10, 12)];
    recent.put(first, { a: 1 });
    recent.put(second, { a: 2 });
    expect([recent.take(first), recent.take(second), recent.take(second)]).toEqual([undefined, { a: 2 }, undefined]);
  });
});

describe("a flat copy", () => {
  it.each<[string, unknown]>([
    ["null", null],
    ["a text", "text"],
    ["a list", []],
    ["an object with an object", { a: {} }],
    ["undefined in an object", { a: undefined }],
    ["-0", { a: -0 }],
    ["NaN", { a: Number.NaN }],
    ["the key of tags", { $hf: "Date" }],
    ["an own __proto__", JSON.parse('{"__proto__":1}')],
    ["a toJSON", { toJSON: () => 1 }],
    ["an instance", new (class Box {})()],
    ["a Date", new Date(0)],
    ["a proxy that lists nothing", new Proxy({ a: 1 }, { ownKeys: () => [] })],
    [
      "a getter that throws",
      {
        get a() {
          throw new Error("no");
        },
      },
    ],
  ])("is not made of %s", (_, value) => {
    expect(flatCopy(value)).toBeUndefined();
  });

  it("is not made while all objects have a field more", () => {
    const all = Object.prototype as Record<string, unknown>;
    all["extra"] = 1;
    try {
      expect(flatCopy({ a: 1 })).toBeUndefined();
    } finally {
      delete all["extra"];
    }
  });

  it("has what a getter says once", () => {
    let n = 0;
    const bytes = written({
      get n() {
        n += 1;
        return n;
      },
    });
    const text = new TextDecoder().decode(bytes);
    expect(jsonCodec.decode(bytes)).toEqual(JSON.parse(text));
  });
});
