import { type Codec, connect, DEFAULT_LIMITS, jsonCodec, silentLogger, workflow } from "holdfast";
import { compressed, encrypted, json, messagePack } from "holdfast/codecs";
import { describe, expect, it } from "vitest";
import { EVERY_CODEC, keyOf } from "./every-codec.ts";

const VALUE = { name: "Ada", at: new Date(0), bytes: new Uint8Array([1, 2, 3]), list: [1, "two", null] };
const keys = { k1: keyOf(1), k2: keyOf(2) };
const sealing = encrypted({ current: "k1", keys });
const failed = expect.objectContaining({ code: "codec_failed" });

describe("every payload carries its encoding", () => {
  const open = EVERY_CODEC.filter(([name]) => !name.includes("encrypted"));
  const reading = EVERY_CODEC.filter(([name]) => name !== "jsonCodec");

  it.each(reading)("%s reads what every codec without keys has written", (_name, reader) => {
    for (const [name, writer] of open) expect(reader.decode(writer.encode(VALUE, "value")), name).toStrictEqual(VALUE);
  });

  it.each(reading.filter(([name]) => name.includes("encrypted")))(
    "%s reads what every codec with its keys has written",
    (_name, reader) => {
      for (const [name, writer] of EVERY_CODEC)
        expect(reader.decode(writer.encode(VALUE, "value")), name).toStrictEqual(VALUE);
    },
  );

  it.each(open)("%s says which key an encrypted value needs", (_name, reader) => {
    const missing = { code: "codec_key_missing", data: { keyId: "k1", known: [] } };
    expect(() => reader.decode(sealing.encode(VALUE, "value"))).toThrow(expect.objectContaining(missing));
    expect(() => reader.decode(sealing.encode(VALUE, "value"))).toThrow(
      'A stored value is encrypted with the key "k1"; this client has no keys. Connect with encrypted({ keys }) from "holdfast/codecs" and this key among the keys.',
    );
  });

  it("the codec of a client that names none reads compressed values, and says what reads MessagePack", () => {
    const small = { aboveBytes: 0 };
    const text = { text: "hold".repeat(100) };
    expect(jsonCodec.decode(compressed(json(), small).encode(text, "value"))).toStrictEqual(text);
    expect(() => jsonCodec.decode(messagePack().encode(VALUE, "value"))).toThrow(
      'A stored value is MessagePack. Connect with codec: json() or messagePack() from "holdfast/codecs"; both read it.',
    );
  });
});

describe("messagePack()", () => {
  it("stores binary data as it is, where JSON needs a third more", () => {
    const bytes = new Uint8Array(30_000).fill(7);
    expect(messagePack().encode(bytes, "value").length).toBeLessThan(30_050);
    expect(json().encode(bytes, "value").length).toBeGreaterThan(40_000);
  });

  it("writes the same bytes for the same value", () => {
    expect(messagePack().encode(VALUE, "value")).toEqual(messagePack().encode(structuredClone(VALUE), "value"));
  });

  it.each([
    ["half a surrogate pair", "\ud800"],
    ["a key that is half a surrogate pair", { "\udc00": 1 }],
    ["a key named __proto__", JSON.parse('{"__proto__":{"a":1}}')],
  ])("writes %s as JSON, which can hold it", (_, value) => {
    const payload = messagePack().encode(value, "value");
    expect(payload).toEqual(json().encode(value, "value"));
    expect(messagePack().decode(payload)).toStrictEqual(value);
  });

  it.each([
    ["nothing but the mark", [0x01]],
    ["text that is cut off", [0x01, 0xa5, 0x61]],
    ["something after the value", [0x01, 0x01, 0x02]],
    ["a list that is longer than the payload", [0x01, 0xdd, 0xff, 0xff, 0xff, 0xff]],
    ["a tag that nobody knows", [0x01, 0x81, 0xa3, 0x24, 0x68, 0x66, 0xa1, 0x78]],
  ])("refuses %s", (_, bytes) => {
    expect(() => messagePack().decode(new Uint8Array(bytes))).toThrow(failed);
    expect(messagePack().decode(messagePack().encode(VALUE, "value"))).toStrictEqual(VALUE);
  });
});

describe("compressed()", () => {
  const text = "the same words over and over ".repeat(20_000);

  it("compresses values above 256 KiB, and leaves smaller ones readable", () => {
    expect(compressed().encode(text, "value").length).toBeLessThan(text.length / 50);
    const small = text.slice(0, 200_000);
    expect(compressed().encode(small, "value")).toEqual(json().encode(small, "value"));
    expect(compressed(json(), { aboveBytes: 1_000 }).encode(small, "value").length).toBeLessThan(5_000);
  });

  it("leaves a value as it is that does not get smaller", () => {
    const codec = compressed(json(), { aboveBytes: 0 });
    expect(codec.encode("x", "value")).toEqual(json().encode("x", "value"));
  });

  it("notices bytes that are cut off, wherever", () => {
    const codec = compressed();
    const payload = codec.encode(text, "value");
    for (let length = 1; length < payload.length; length++)
      expect(() => codec.decode(payload.subarray(0, length)), String(length)).toThrow(failed);
  });

  it("says that a method of compression is unknown", () => {
    const payload = Uint8Array.from(compressed().encode(text, "value"));
    payload[1] = 9;
    expect(() => json().decode(payload)).toThrow(/method 9 is unknown/);
  });

  it("refuses what is not a codec, and options that it does not know", () => {
    expect(() => compressed("json" as unknown as Codec)).toThrow("compressed: inner");
    expect(() => compressed(json(), { above: 1 } as object)).toThrow('there is no option "above"');
    expect(() => compressed(json(), { aboveBytes: -1 })).toThrow("aboveBytes is -1");
  });
});

describe("encrypted()", () => {
  const payload = sealing.encode(VALUE, "value");
  const plain = json().encode(VALUE, "value");

  it("writes nothing that can be read, and nothing twice", () => {
    const text = Buffer.from(payload).toString("latin1");
    expect(text).toContain("k1");
    expect(text).not.toContain("Ada");
    const again = sealing.encode(VALUE, "value");
    expect(Buffer.compare(again.subarray(-plain.length), payload.subarray(-plain.length))).not.toBe(0);
    expect(sealing.decode(again)).toStrictEqual(VALUE);
  });

  it("adds 40 bytes and the id of the key", () => {
    expect(payload.length).toBe(plain.length + 40 + "k1".length);
  });

  it("never uses a nonce twice with the same derived key", () => {
    const other = encrypted({ current: "k1", keys });
    const codecs = [sealing, other];
    const heads = Array.from({ length: 2_000 }, (_, i) =>
      Buffer.from((codecs[i % 2] as Codec).encode(i, "value").subarray(4, 26)).toString("hex"),
    );
    expect(new Set(heads).size).toBe(2_000);
    expect(new Set(heads.map((head) => head.slice(0, 32))).size).toBe(2);
  });

  it("notices a flipped bit, wherever it is", () => {
    for (let bit = 0; bit < payload.length * 8; bit++) {
      const damaged = Uint8Array.from(payload);
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      let code: unknown;
      try {
        sealing.decode(damaged);
      } catch (error) {
        code = (error as { code?: unknown }).code;
      }
      // A damaged key id is the id of a key that nobody has.
      const inKeyId = bit >= 8 && bit < 32;
      expect(inKeyId ? ["codec_failed", "codec_key_missing"] : ["codec_failed"], `bit ${bit}`).toContain(code);
    }
  });

  it("notices bytes that are cut off, wherever", () => {
    for (let length = 1; length < payload.length; length++)
      expect(() => sealing.decode(payload.subarray(0, length)), String(length)).toThrow(failed);
  });

  it("says that another key was used under the same id", () => {
    const wrong = encrypted({ current: "k1", keys: { k1: keyOf(9) } });
    expect(() => wrong.decode(payload)).toThrow(
      `A stored value of ${payload.length} bytes cannot be decrypted with the key "k1": another key was used under this id, or the bytes are damaged. Connect with the key that wrote it under that id; damaged bytes have to come from a backup.`,
    );
  });

  it("reads old values after a rotation, as long as the old key is there", () => {
    const rotated = encrypted({ current: "k2", keys });
    expect(rotated.decode(payload)).toStrictEqual(VALUE);
    expect(sealing.decode(rotated.encode(VALUE, "value"))).toStrictEqual(VALUE);
    const without = encrypted({ current: "k2", keys: { k2: keyOf(2) } });
    const missing = { code: "codec_key_missing", data: { keyId: "k1", known: ["k2"] } };
    expect(() => without.decode(payload)).toThrow(expect.objectContaining(missing));
  });

  it("does not notice what happens to the caller's key later", () => {
    const mine = keyOf(1);
    const codec = encrypted({ current: "k1", keys: { k1: mine } });
    mine.fill(0);
    expect(codec.decode(payload)).toStrictEqual(VALUE);
  });

  it.each<[string, unknown, string]>([
    ["no options", undefined, "encrypted: the options are missing."],
    ["no current key", { keys }, "encrypted: current is missing: the id of the key that encrypts."],
    ["no keys", { current: "k1" }, "encrypted: keys is missing: a key of 32 bytes for each id."],
    ["an id without a key", { current: "k3", keys }, 'current is not the id of one of the keys ("k1", "k2").'],
    ["a short key", { current: "a", keys: { a: new Uint8Array(16) } }, 'keys["a"] has 16 bytes; it must be'],
    [
      "a key in base64",
      { current: "a", keys: { a: "c2VjcmV0" } },
      'Buffer.from(text, "base64") makes bytes of base64.',
    ],
    ["an empty id", { current: "a", keys: { a: keyOf(1), "": keyOf(1) } }, "an id in keys has 0 bytes"],
    ["a long id", { current: "a", keys: { ["x".repeat(65)]: keyOf(1) } }, "an id in keys has 65 bytes; a key id is"],
    ["a list of keys", { current: "0", keys: [keyOf(1)] }, "keys is not an object with a key for each id"],
    ["a key of another name", { current: "k1", key: keyOf(1) }, 'there is no option "key". Did you mean `keys`?'],
    ["an inner codec that is none", { current: "k1", keys, inner: {} }, "inner has no encode, decode"],
  ])("refuses %s", (_, options, message) => {
    const refused = () => encrypted(options as Parameters<typeof encrypted>[0]);
    expect(refused).toThrow(expect.objectContaining({ code: "invalid_option" }));
    expect(refused).toThrow(message);
    expect(refused).not.toThrow("c2VjcmV0");
  });
});

describe("the limit of payloads", () => {
  it("counts stored bytes: after compression and encryption", async () => {
    const echo = workflow("echo", async (_ctx, text: string) => text.length);
    const { payloadMaxBytes } = DEFAULT_LIMITS;
    const text = "x".repeat(payloadMaxBytes + 1_000);
    const codec = encrypted({ current: "k1", keys, inner: compressed() });
    const packing = await connect("memory:", { codec, logger: silentLogger });
    await packing.worker({ workflows: [echo] }).start();
    expect(await packing.run(echo, text)).toBe(text.length);
    await packing.close();
    const plainly = await connect("memory:", { codec: encrypted({ current: "k1", keys }), logger: silentLogger });
    const fits = text.slice(0, payloadMaxBytes - 43);
    await expect(plainly.start(echo, fits)).rejects.toMatchObject({
      code: "payload_too_large",
      data: { bytes: payloadMaxBytes + 1 },
    });
    await plainly.start(echo, fits.slice(1));
    await plainly.close();
  });
});
