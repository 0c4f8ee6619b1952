import { type Codec, jsonCodec } from "holdfast";
import { compressed, encrypted, json, messagePack } from "holdfast/codecs";
import { describe, expect, it } from "vitest";
import { EVERY_CODEC, keyOf } from "./every-codec.ts";

const VALUE = { name: "Ada".repeat(50), at: new Date(0), bytes: new Uint8Array([1, 2, 3]), list: [1, "two", null] };

const renewed = (codec: Codec, payload: Uint8Array): Uint8Array => {
  if (!codec.reencode) throw new Error(`${codec.name} has no reencode`);
  return codec.reencode(payload);
};

describe("reencode", () => {
  it.each(EVERY_CODEC)("of %s returns what it has written itself as it is", (_name, codec) => {
    for (const value of [VALUE, "", null, undefined, "half \ud800 a pair"]) {
      const payload = codec.encode(value, "value");
      const again = renewed(codec, payload);
      // Values that MessagePack cannot hold are JSON, and are looked at once more.
      if (value === VALUE || value === undefined) expect(again).toBe(payload);
      expect(codec.decode(again)).toStrictEqual(value);
      expect([...renewed(codec, again)].length).toBe(again.length);
    }
  });

  it.each(EVERY_CODEC.filter(([name]) => name.includes("encrypted")))(
    "of %s makes its own of what every other codec has written, and the value stays the same",
    (_name, codec) => {
      for (const [name, writer] of EVERY_CODEC) {
        const next = renewed(codec, writer.encode(VALUE, "value"));
        expect(renewed(codec, next), name).toBe(next);
        expect(codec.decode(next), name).toStrictEqual(VALUE);
      }
    },
  );

  it.each([
    ["json()", json(), (first: number | undefined) => first === 0x7b],
    ["messagePack()", messagePack(), (first: number | undefined) => first === 1],
    ["compressed()", compressed(json(), { aboveBytes: 0 }), (first: number | undefined) => first === 2],
  ] as const)("of %s changes the encoding to its own", (_name, codec, isOwn) => {
    for (const writer of [json(), messagePack(), compressed(messagePack(), { aboveBytes: 0 }), jsonCodec]) {
      const next = renewed(codec, writer.encode(VALUE, "value"));
      expect(isOwn(next[0])).toBe(true);
      expect(codec.decode(next)).toStrictEqual(VALUE);
    }
  });

  it("after a change of keys leaves nothing that needs the old one", () => {
    const before = encrypted({ current: "a", keys: { a: keyOf(1) } });
    const both = encrypted({ current: "b", keys: { a: keyOf(1), b: keyOf(2) } });
    const after = encrypted({ current: "b", keys: { b: keyOf(2) } });
    const payload = before.encode(VALUE, "value");
    expect(() => renewed(after, payload)).toThrow(expect.objectContaining({ code: "codec_key_missing" }));
    expect(after.decode(renewed(both, payload))).toStrictEqual(VALUE);
  });

  it("of encrypted() works around a codec of one's own, whose bytes stay as they are", () => {
    const { name, encode, decode } = json();
    const own: Codec = { name, encode, decode };
    const [a, b] = ["a", "b"].map((current) => {
      return encrypted({ current, keys: { a: keyOf(1), b: keyOf(2) }, inner: own });
    }) as [Codec, Codec];
    expect(b.decode(renewed(b, a.encode(VALUE, "value")))).toStrictEqual(VALUE);
  });
});
