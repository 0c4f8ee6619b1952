import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { largestPayload, packBody, unpackBody } from "./store-bodies.ts";
import { MessageReader, readRequest, readResponse, requestBytes, responseBytes } from "./store-frames.ts";
import { PartGatherer, partsOf } from "./store-parts.ts";

/** What calls take and return: plain data with bytes. */
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true }).filter((n) => !Object.is(n, -0)),
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom("a", "\ud800", "\udc00", "😀", "\ufffd", "\ue000", "\uac00") }),
    fc.uint8Array({ maxLength: 300 }),
    fc.array(tie("any"), { maxLength: 5 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toJSON")), tie("any"), {
      maxKeys: 5,
      noNullPrototype: true,
    }),
  ),
})).any;

describe("a body", () => {
  test("is read as it was written, whatever is in it", () => {
    fc.assert(
      fc.property(value, (given) => {
        expect(unpackBody(packBody(given))).toEqual(unpackedForm(given));
      }),
      { numRuns: 500 },
    );
  });

  test("has payloads of its own: they do not keep the message alive", () => {
    const payload = (unpackBody(packBody({ payload: new Uint8Array([1, 2, 3]) })) as { payload: Uint8Array }).payload;
    expect(payload.constructor).toBe(Uint8Array);
    expect(payload.buffer.byteLength).toBe(3);
  });

  test("that is none is refused, and costs nothing", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
        try {
          unpackBody(bytes);
        } catch (error) {
          expect(error).toMatchObject({ code: "store_refused" });
        }
      }),
      { numRuns: 2_000 },
    );
    // A list of four billion, in five bytes.
    expect(() => unpackBody(new Uint8Array([0xdd, 0xff, 0xff, 0xff, 0xff]))).toThrow("cannot be read");
  });

  test("says how large its largest payload is", () => {
    expect(largestPayload({ a: [{ b: new Uint8Array(7) }, new Uint8Array(3)], c: "a long text" })).toBe(7);
  });
});

describe("a stream of messages", () => {
  test("is the same in whatever pieces it arrives", () => {
    const requests = [
      requestBytes({ call: 1, method: "runs.commit", deadlineMs: 30_000, body: new Uint8Array(1_000).fill(3) }),
      requestBytes({ control: { case: "ping", value: 7 } }),
      requestBytes({ call: 2, method: "readClock" }),
    ];
    const stream = Buffer.concat(requests);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: stream.length }), { maxLength: 8 }), (cuts) => {
        const reader = new MessageReader(10_000);
        const places = [0, ...cuts.sort((a, b) => a - b), stream.length];
        const read = places.slice(1).flatMap((to, i) => [...reader.read(stream.subarray(places[i], to))]);
        expect(read.map((message) => readRequest(message).call)).toEqual([1, 0, 2]);
      }),
    );
  });

  test("with a message that is too large, or compressed, is refused", () => {
    const large = responseBytes({ call: 1, body: new Uint8Array(2_000) });
    expect(() => new MessageReader(1_000).read(large)).toThrow("the limit is 1000");
    const odd = responseBytes({ call: 1 });
    odd[0] = 1;
    expect(() => new MessageReader(1_000).read(odd)).toThrow("not compressed");
  });

  test("keeps fields that it does not know from disturbing those that it knows", () => {
    const known = responseBytes({ call: 9, body: new Uint8Array([1]) }).subarray(5);
    // Field 900, a text.
    const later = Buffer.concat([known, Buffer.from([0xa2, 0x38, 0x02, 0x68, 0x69])]);
    const { call, body } = readResponse(later);
    expect([call, ...body]).toEqual([9, 1]);
  });
});

describe("parts", () => {
  test("are put together as they were, each call for itself", () => {
    const bodies = [1, 2].map((n) => new Uint8Array(1_000).fill(n));
    const gatherer = new PartGatherer(10_000);
    const wholes: (Uint8Array | undefined)[] = [];
    const split = bodies.map((body) => partsOf(body, 300));
    for (let i = 0; i < 4; i += 1)
      for (const [call, parts] of split.entries()) wholes.push(gatherer.add(call, parts[i] as Uint8Array, i < 3));
    expect(wholes.slice(-2)).toEqual(bodies);
    expect(wholes.slice(0, -2).every((whole) => whole === undefined)).toBe(true);
    expect(gatherer.count).toBe(0);
  });
});

/** Bytes as Uint8Array, objects with an own `__proto__`. */
function unpackedForm(given: unknown): unknown {
  if (given instanceof Uint8Array) return given;
  if (Array.isArray(given)) return given.map(unpackedForm);
  if (typeof given !== "object" || given === null) return given;
  const object = {};
  for (const [key, member] of Object.entries(given))
    Object.defineProperty(object, key, {
      value: unpackedForm(member),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return object;
}
