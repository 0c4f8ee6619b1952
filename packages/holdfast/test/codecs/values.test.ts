import { runInNewContext } from "node:vm";
import { type Codec, type HoldfastError, isHoldfastError, RetryableError } from "holdfast";
import { describe, expect, it } from "vitest";
import { EVERY_CODEC } from "./every-codec.ts";

function nested(depth: number, wrap: (inner: unknown) => unknown, innermost: unknown = 1): unknown {
  let value = innermost;
  for (let level = 0; level < depth; level++) value = wrap(value);
  return value;
}

function* numbers(): Generator<number> {
  yield 1;
}

/** As query builders are: it is not sent before it is awaited. */
class Query {
  // biome-ignore lint/suspicious/noThenProperty: that is what it is about
  then(): void {}
}

const use = (codec: Codec) => ({
  roundTrip: (value: unknown) => codec.decode(codec.encode(value, "value")),
  refusal(value: unknown, where = "input"): HoldfastError {
    try {
      codec.encode(value, where);
    } catch (error) {
      if (isHoldfastError(error, "unserializable_value")) return error;
      throw error;
    }
    throw new Error("it was encoded");
  },
});

describe.each(EVERY_CODEC)("%s", (_name, codec) => {
  const { roundTrip, refusal } = use(codec);

  describe("values that JSON cannot hold", () => {
    it.each<[string, unknown]>([
      ["null", null],
      ["text", "text ü€𝄞"],
      ["numbers", [0, -1.5, 1e300, 2 ** 53, -(2 ** 53), 2 ** 31, 2 ** 32, -(2 ** 31) - 1, 5e-324]],
      ["a list and an object", [1, [2, { a: null, "": "empty key", "1": 2, constructor: 3, length: 5 }]]],
      ["a Date", new Date(0)],
      ["an invalid Date", new Date(Number.NaN)],
      ["the last Date", new Date(8.64e15)],
      ["a Map", new Map([["a", 1]])],
      ["a Set", new Set([1, "a"])],
      ["a BigInt", 2n ** 70n],
      ["bytes", new Uint8Array([0, 255, 16])],
      ["floats", new Float64Array([1.5, Number.NaN])],
      ["big integers", new BigInt64Array([1n, -(2n ** 63n)])],
      ["an ArrayBuffer", new Uint8Array([1]).buffer],
      ["NaN", Number.NaN],
      ["Infinity", Number.POSITIVE_INFINITY],
      ["-Infinity", Number.NEGATIVE_INFINITY],
      ["-0", -0],
      ["a RegExp", /a\/b"/giu],
      ["a URL", new URL("https://a.example/x?y#z")],
      ["undefined in an object", { a: undefined }],
      ["undefined in a list", [undefined]],
      ["an own $hf", { $hf: "Date", v: 1 }],
      ["half a megabyte of text", "holdfast ".repeat(60_000)],
      ["a long list", Array.from({ length: 3_000 }, (_, i) => i)],
    ])("keeps %s", (_, value) => {
      expect(roundTrip(value)).toStrictEqual(value);
      expect(roundTrip({ deep: [value, new Map([[value, value]])] })).toStrictEqual({
        deep: [value, new Map([[value, value]])],
      });
    });

    it("keeps half surrogate pairs, NUL and every other character", () => {
      const odd = '\ud800 \udc00 \u0000 \u2028 𝄞 ü "$hf"';
      expect(roundTrip({ [odd]: odd, at: new Date(0) })).toStrictEqual({ [odd]: odd, at: new Date(0) });
    });

    it("keeps values apart that are written one after the other, short and long", () => {
      const values = Array.from({ length: 500 }, (_, i) => ({ i, text: "ü€𝄞".repeat(i % 200) }));
      const encoded = values.map((value) => codec.encode(value, "value"));
      expect(encoded.map((payload) => codec.decode(payload))).toStrictEqual(values);
    });

    it("is zero bytes for undefined, and for nothing else", () => {
      expect(codec.encode(undefined, "value")).toHaveLength(0);
      expect(codec.decode(new Uint8Array(0))).toBeUndefined();
      for (const value of [null, "", 0, false, [], {}]) expect(codec.encode(value, "value").length).toBeGreaterThan(0);
    });

    it("keeps a Buffer as a Uint8Array with memory of its own", () => {
      const decoded = roundTrip(Buffer.from("hello")) as Uint8Array;
      expect(decoded.constructor).toBe(Uint8Array);
      expect(decoded).toStrictEqual(new Uint8Array(Buffer.from("hello")));
      expect(decoded.buffer.byteLength).toBe(5);
    });

    it("keeps only the part of the memory that a view shows", () => {
      expect(roundTrip(new Uint8Array([1, 2, 3, 4]).subarray(1, 3))).toStrictEqual(new Uint8Array([2, 3]));
    });

    it("keeps a tag that an attacker put into user data as data", () => {
      const attack = { $hf: "Error", v: { $hf: "undefined" }, list: [{ $hf: { $hf: 1 } }] };
      expect(roundTrip(attack)).toStrictEqual(attack);
      expect(roundTrip(JSON.parse('{"$hf":1,"__proto__":{"x":1}}'))).toStrictEqual(
        JSON.parse('{"$hf":1,"__proto__":{"x":1}}'),
      );
    });

    it("fills the holes of a sparse list with undefined", () => {
      const sparse = [1];
      sparse[3] = 4;
      expect(roundTrip(sparse)).toStrictEqual([1, undefined, undefined, 4]);
    });

    it("changes no prototype through __proto__", () => {
      const plain = JSON.parse('{"__proto__":{"polluted":true}}');
      const special = JSON.parse('{"__proto__":{"polluted":true}}');
      special.at = new Date(0);
      for (const value of [plain, special]) {
        const decoded = roundTrip(value) as Record<string, unknown>;
        expect(Object.keys(decoded)).toContain("__proto__");
        expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
        expect(decoded["polluted"]).toBeUndefined();
        expect(decoded).toStrictEqual(value);
      }
    });

    it("recognises values from another realm", () => {
      const foreign = runInNewContext(
        "({ d: new Date(5), m: new Map([[1, 2]]), s: new Set([1]), r: /x/, e: new RangeError('no'), u: new Uint8Array([7]), o: { a: 1 } })",
      );
      expect(roundTrip(foreign)).toEqual({
        d: new Date(5),
        m: new Map([[1, 2]]),
        s: new Set([1]),
        r: /x/,
        e: new RangeError("no"),
        u: new Uint8Array([7]),
        o: { a: 1 },
      });
    });
  });

  describe("errors", () => {
    it("keep class, name, message, stack, cause and fields", () => {
      const cause = new RangeError("inner");
      const error = Object.assign(new TypeError("outer", { cause }), { code: "X", at: new Date(0) });
      const decoded = roundTrip(error) as TypeError & Record<string, unknown>;
      expect(decoded).toBeInstanceOf(TypeError);
      expect(decoded).not.toBe(error);
      expect(decoded).toMatchObject({
        name: "TypeError",
        message: "outer",
        stack: error.stack,
        code: "X",
        at: new Date(0),
      });
      expect(decoded.cause).toBeInstanceOf(RangeError);
      expect((decoded.cause as Error).stack).toBe(cause.stack);
      expect(Object.keys(decoded)).toEqual(["code", "at"]);
    });

    it("of a class of the user's keep their name", () => {
      class CardError extends Error {
        override name = "CardError";
        readonly card = "visa";
      }
      const decoded = roundTrip(new CardError("refused"));
      expect(decoded).toBeInstanceOf(Error);
      expect(decoded).toMatchObject({ name: "CardError", message: "refused", card: "visa" });
      expect(String(decoded)).toBe("CardError: refused");
    });

    it("with several members keep them", () => {
      const decoded = roundTrip(new AggregateError([new Error("a"), 2], "both")) as AggregateError;
      expect(decoded).toBeInstanceOf(AggregateError);
      expect(decoded.errors).toEqual([new Error("a"), 2]);
      const custom = roundTrip(Object.assign(new Error("x"), { errors: { a: "required" } }));
      expect(custom).toMatchObject({ errors: { a: "required" } });
    });

    it("of Holdfast are recognised again", () => {
      const error = new RetryableError("busy", { after: "5s", data: { at: new Date(0) }, cause: new Error("503") });
      const decoded: unknown = roundTrip({ error });
      const restored = (decoded as { error: unknown }).error;
      expect(isHoldfastError(restored, "retryable")).toBe(true);
      expect(restored).toMatchObject({
        name: "RetryableError",
        message: "busy",
        kind: "ServiceUnavailable",
        afterMs: 5_000,
        data: { at: new Date(0), afterMs: 5_000 },
        stack: error.stack,
        cause: { message: "503" },
      });
    });

    it("leave behind what cannot be stored", () => {
      const request: Record<string, unknown> = { path: "/x" };
      request["self"] = { request };
      const error = Object.assign(new Error("x"), { request, retry: () => 1, status: 503 });
      expect(Object.keys(roundTrip({ error, after: request["path"] }) as object)).toEqual(["error", "after"]);
      expect(Object.keys((roundTrip({ error }) as { error: object }).error)).toEqual(["status"]);
      const selfCaused = new Error("round");
      selfCaused.cause = selfCaused;
      expect(roundTrip(selfCaused)).toEqual(new Error("round"));
    });
  });

  describe("objects of classes", () => {
    it("are refused, because what comes back would have no methods", () => {
      class Point {
        readonly x = 1;
        #hidden = 3;
        get sum(): number {
          return this.x + this.#hidden;
        }
      }
      expect(refusal({ at: [new Point()] }).message).toBe(
        "input.at[0] is an instance of class Point, and would come back without its methods (store a plain object, such as { ...value }, or give the class a toJSON): it cannot be stored",
      );
      expect(roundTrip({ ...new Point() })).toStrictEqual({ x: 1 });
      expect(refusal(Object.create({ inherited: 1 })).message).toContain("input inherits from another object");
      expect(refusal(new (class {})()).message).toContain("input is an instance of a class");
    });

    it("in an error that somebody else has made become their fields", () => {
      class Details {
        readonly retry = 3;
      }
      const error = Object.assign(new Error("x"), { details: new Details() });
      expect(roundTrip(error)).toMatchObject({ details: { retry: 3 } });
      expect(refusal([error, new Details()]).message).toContain("input[1] is an instance of class Details");
    });

    it("of another realm are what they are here", () => {
      const foreign: unknown = runInNewContext("({ a: [1, { b: new Date(0) }], m: new Map([[1, 2]]) })");
      expect(roundTrip(foreign)).toEqual({ a: [1, { b: new Date(0) }], m: new Map([[1, 2]]) });
      expect(refusal(runInNewContext("new (class Point {})()")).message).toContain("is an instance of class Point");
    });

    it("become what their toJSON returns", () => {
      class Money {
        readonly cents: bigint;
        constructor(cents: bigint) {
          this.cents = cents;
        }
        toJSON(key: string): unknown {
          return { key, cents: this.cents, toJSON: 5 };
        }
      }
      expect(roundTrip({ price: new Money(5n) })).toStrictEqual({ price: { key: "price", cents: 5n, toJSON: 5 } });
      expect(roundTrip({ toJSON: () => "short" })).toBe("short");
      expect(roundTrip({ toJSON: () => new Date(0) })).toStrictEqual(new Date(0));
      const itself: Record<string, unknown> = { a: 1 };
      Object.defineProperty(itself, "toJSON", { value: () => itself });
      expect(roundTrip(itself)).toStrictEqual({ a: 1 });
    });

    it("lose their boxes", () => {
      expect(roundTrip([Object(1), Object("a"), Object(true), Object(-0)])).toStrictEqual([1, "a", true, -0]);
    });

    it("are not taken for what they only claim to be", () => {
      const fake = (tag: string) => ({ a: 1, [Symbol.toStringTag]: tag });
      for (const tag of ["Date", "Map", "Set", "RegExp", "URL", "Promise", "ArrayBuffer", "Number", "Error"]) {
        const value = Object.assign(Object.create({ [Symbol.toStringTag]: tag }), { a: 1 });
        expect(refusal(value).message, tag).toContain("inherits from another object");
        expect(roundTrip([fake(tag)]), tag).toEqual([{ a: 1 }]);
      }
    });
  });

  describe("an instance of a class that extends a built-in one", () => {
    class Tags extends Set<string> {}
    class Table extends Map<string, number> {}
    class Rows extends Array<number> {}
    class SortedRows extends Rows {}
    class Day extends Date {}
    class Link extends URL {}

    it.each([
      ["Tags", "Set", new Tags(["a"])],
      ["Table", "Map", new Table([["a", 1]])],
      ["Rows", "Array", Rows.from([1, 2])],
      ["SortedRows", "Array", SortedRows.from([])],
      ["Day", "Date", new Day(0)],
      ["Link", "URL", new Link("https://example.com")],
    ])("is refused with its path: %s", (name, base, value) => {
      expect(refusal({ at: [value] }).message).toBe(
        `input.at[0] is an instance of class ${name}, and would come back without its methods (store a plain ${base}, or give the class a toJSON): it cannot be stored`,
      );
      expect(roundTrip(Object.assign(new Error("no"), { at: value }))).toMatchObject({ message: "no" });
    });

    it("is stored as what its own toJSON returns", () => {
      class Money extends Map<string, number> {
        toJSON(): unknown {
          return [...this];
        }
      }
      expect(roundTrip(new Money([["EUR", 1]]))).toEqual([["EUR", 1]]);
    });

    it("is not what a built-in one of another realm is", () => {
      const text = "[[1], new Map([[1, 2]]), new Set([1]), new Date(0), /x/g]";
      expect(roundTrip(runInNewContext(text))).toEqual([[1], new Map([[1, 2]]), new Set([1]), new Date(0), /x/g]);
    });
  });

  describe("what cannot be stored", () => {
    it.each<[string, unknown, string]>([
      ["a function", { items: [0, 1, 2, { fn: () => 1 }] }, "input.items[3].fn is a function: it cannot be stored"],
      ["a symbol", { "x-id": Symbol("s") }, 'input["x-id"] is a symbol: it cannot be stored'],
      ["a promise", [Promise.resolve()], "input[0] is a promise (is an await missing?): it cannot be stored"],
      [
        "a Response",
        { r: new Response("x") },
        "input.r is a fetch Response (store the result of .json() or .text()): it cannot be stored",
      ],
      ["a WeakMap", { w: new WeakMap() }, "input.w is a WeakMap, which cannot be listed: it cannot be stored"],
      ["the value itself", () => 1, "input is a function: it cannot be stored"],
      [
        "something in a Map",
        { m: new Map([["k", { f: () => 1 }]]) },
        'input.m.get("k").f is a function: it cannot be stored',
      ],
      ["a key of a Map", new Map([[() => 1, 1]]), "input.keys()[0] is a function: it cannot be stored"],
      ["something in a Set", new Set([1, () => 1]), "input.values()[1] is a function: it cannot be stored"],
    ])("names the path of %s", (_, value, message) => {
      expect(refusal(value).message).toBe(message);
    });

    it("names the path in a place with a longer name", () => {
      const error = refusal({ a: { b: () => 1 } }, 'input of workflow "order"');
      expect(error.message).toBe('a.b in input of workflow "order" is a function: it cannot be stored');
      expect(error.data).toEqual({ where: 'input of workflow "order"', path: "a.b" });
      expect(error.kind).toBe("ValidationError");
    });

    it.each<[string, unknown, string]>([
      ["URLSearchParams", { q: new URLSearchParams("a=1") }, "input.q is a URLSearchParams (store its toString())"],
      ["an iterator", { i: [1].values() }, "input.i is an iterator (store its values in an array)"],
      ["an iterator of a Map", { i: new Map([[1, 2]]).entries() }, "input.i is an iterator"],
      ["a generator", { g: numbers() }, "input.g is a generator"],
      ["a thenable", { row: new Query() }, "input.row is a promise (is an await missing?)"],
      ["an AbortSignal", { s: new AbortController().signal }, "input.s is an instance of class AbortSignal"],
      ["a proxy that shows nothing", { p: new Proxy({}, {}) }, "input.p is a proxy that shows no fields"],
      ["a proxy of a function", { p: new Proxy(() => 1, {}) }, "input.p is a function"],
    ])("says what it is and what to store instead: %s", (_, value, message) => {
      expect(refusal(value).message).toContain(message);
    });

    it("names both ends of a cycle", () => {
      const order: Record<string, unknown> = { lines: [{}] };
      (order["lines"] as Record<string, unknown>[])[0]!["order"] = order;
      expect(refusal({ order }).message).toBe(
        "input.order.lines[0].order is a cycle: it leads back to order: it cannot be stored",
      );
      const self: unknown[] = [];
      self.push(self, self);
      expect(refusal(self).message).toBe("input[0] is a cycle: it leads back to the whole value: it cannot be stored");
      const map = new Map<string, unknown>();
      map.set("me", map);
      expect(refusal(map).message).toContain('input.get("me") is a cycle');
    });

    it("does not take the same object in two places for a cycle", () => {
      const shared = { at: new Date(0) };
      expect(roundTrip([shared, shared, { shared }])).toStrictEqual([shared, shared, { shared }]);
    });

    it.each<[string, (inner: unknown) => unknown]>([
      ["lists", (inner) => [inner]],
      ["objects", (inner) => ({ a: inner })],
      ["Maps", (inner) => new Map([["a", inner]])],
      ["errors", (inner) => ({ $hf: inner })],
    ])("allows 500 levels of %s and refuses more", (_, wrap) => {
      expect(roundTrip(nested(500, wrap))).toStrictEqual(nested(500, wrap));
      expect(refusal(nested(501, wrap)).message).toContain("is nested more than 500 levels deep");
      expect(refusal(nested(100_000, wrap)).message.length).toBeLessThan(500);
    });

    it("says which getter or toJSON threw what", () => {
      const broken = () => {
        throw new TypeError("bug");
      };
      const error = refusal({ a: { toJSON: broken } });
      expect(error.message).toBe("input.a cannot be read: it throws TypeError: bug: it cannot be stored");
      expect(error.cause).toBeInstanceOf(TypeError);
      expect(refusal([Object.defineProperty({}, "x", { get: broken, enumerable: true })]).message).toContain(
        "input[0].x cannot",
      );
    });
  });
});
