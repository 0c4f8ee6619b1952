import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ErrorRecord } from "../model/error-record.ts";
import { fromErrorRecord, toErrorRecord } from "./error-record.ts";
import { HoldfastError, isHoldfastError } from "./holdfast-error.ts";
import { NonRetryableError } from "./step-errors.ts";

const utf8Length = (text: string) => new TextEncoder().encode(text).length;

describe("toErrorRecord", () => {
  it("keeps name, message, kind, code, stack, fields and cause", () => {
    const cause = new RangeError("inner");
    const error = Object.assign(new TypeError("outer", { cause }), {
      code: "23505",
      constraint: "orders_pk",
      rows: [1, 2],
    });
    const record = toErrorRecord(error, { attempts: 3, op: "charge#2" });
    expect(record).toEqual({
      name: "TypeError",
      message: "outer",
      kind: "ValidationError",
      code: "23505",
      stack: error.stack,
      attempts: 3,
      op: "charge#2",
      data: { constraint: "orders_pk", rows: [1, 2] },
      cause: { name: "RangeError", message: "inner", kind: "Unknown", stack: cause.stack },
    });
  });

  it("keeps the data of a HoldfastError, and takes the kind it is told", () => {
    const record = toErrorRecord(new NonRetryableError("no", { data: { card: "visa" } }), { kind: "Timeout" });
    expect(record).toMatchObject({
      name: "NonRetryableError",
      code: "non_retryable",
      kind: "Timeout",
      data: { card: "visa" },
    });
  });

  it("keeps numeric codes as text, and a foreign kind as data", () => {
    expect(toErrorRecord(Object.assign(new Error("x"), { code: 14, kind: "strange" }))).toMatchObject({
      code: "14",
      kind: "Unknown",
      data: { kind: "strange" },
    });
  });

  it("summarises the members of an AggregateError", () => {
    const error = new AggregateError([Object.assign(new Error("a"), { status: 404 }), "b"], "all failed");
    expect(toErrorRecord(error).data).toEqual({ errors: [{ name: "Error", message: "a", kind: "NotFound" }, "b"] });
  });

  it.each<[unknown, string, string]>([
    ["boom", "ThrownValue", "boom"],
    [undefined, "ThrownValue", "undefined was thrown"],
    [null, "ThrownValue", "null was thrown"],
    [42, "ThrownValue", "42 was thrown"],
    [10n, "ThrownValue", "10 was thrown"],
    [Symbol("s"), "ThrownValue", "Symbol(s) was thrown"],
    [() => 1, "ThrownValue", "a function was thrown"],
    [[1, 2], "ThrownValue", "an array was thrown"],
    [{ status: 404 }, "ThrownValue", "an object of class Object was thrown"],
    [{ name: "Odd", message: "from elsewhere" }, "Odd", "from elsewhere"],
    [Object.create(null), "ThrownValue", "an object of class unknown was thrown"],
  ])("makes a record of %s", (thrown, name, message) => {
    expect(toErrorRecord(thrown)).toMatchObject({ name, message });
  });

  it("keeps the fields of a thrown object", () => {
    expect(toErrorRecord({ status: 404, why: "gone" })).toMatchObject({
      kind: "NotFound",
      data: { status: 404, why: "gone" },
    });
  });

  it("masks credentials in message, stack, data and cause", () => {
    const secret = "s3cr3tPassw0rd";
    const url = `postgres://app:${secret}@db/x`;
    const error = Object.assign(new Error(`cannot connect to ${url}`, { cause: new Error(`api_key=${secret}`) }), {
      config: { url, headers: { Authorization: `Bearer ${secret}` }, password: secret },
      list: [`token=${secret}`],
    });
    const record = toErrorRecord(error);
    expect(JSON.stringify(record)).not.toContain(secret);
    expect(record.message).toBe("cannot connect to postgres://app:[redacted]@db/x");
    expect(record.data).toMatchObject({ config: { password: "[redacted]", headers: { Authorization: "[redacted]" } } });
  });

  it("applies the caller's redaction as well, and keeps nothing when that fails", () => {
    const redact = (text: string) => text.replaceAll("Ann", "***");
    expect(toErrorRecord(new Error("Ann is out"), { redact }).message).toBe("*** is out");
    const broken = () => {
      throw new Error("bug");
    };
    expect(toErrorRecord(new Error("Ann is out"), { redact: broken })).toMatchObject({ message: "[redacted]" });
  });

  it.each([
    ["undefined", () => undefined],
    ["null", () => null],
    ["a number", () => 7],
    ["a promise of a text", async () => "*** is out"],
  ])("keeps nothing of a text for which the caller's redaction gives %s", (_what, redact) => {
    const error = Object.assign(new Error("Ann is out"), { who: "Ann" });
    const record = toErrorRecord(error, { redact: redact as never });
    expect(record).toMatchObject({ name: "[redacted]", message: "[redacted]", data: { "[redacted]": "[redacted]" } });
  });

  it("cuts message and stack to their size in bytes, never inside a character", () => {
    const error = new Error("ü𝄞".repeat(20_000));
    error.stack = `${"é".repeat(100_000)}`;
    const record = toErrorRecord(error);
    expect(utf8Length(record.message)).toBeLessThanOrEqual(8_192);
    expect(utf8Length(record.message)).toBeGreaterThan(8_100);
    expect(utf8Length(record.stack ?? "")).toBeLessThanOrEqual(4_096);
    expect(record.message).toMatch(/ü?𝄞? … \[cut\]$/u);
  });

  it("does not cut what just fits", () => {
    expect(toErrorRecord(new Error("x".repeat(8_192))).message).toBe("x".repeat(8_192));
    expect(toErrorRecord(new Error("x".repeat(8_193))).message).toMatch(/\[cut\]$/);
  });

  it("keeps five causes", () => {
    let error = new Error("0");
    for (let level = 1; level <= 10; level++) error = new Error(String(level), { cause: error });
    const messages: string[] = [];
    for (let record: ErrorRecord | undefined = toErrorRecord(error); record; record = record.cause)
      messages.push(record.message);
    expect(messages).toEqual(["10", "9", "8", "7", "6", "5"]);
  });

  it("makes text that every store can keep", () => {
    const record = toErrorRecord(Object.assign(new Error("a\u0000b\ud800c𝄞"), { "k\u0000": "\udfff" }));
    expect(record.message).toBe("a\ufffdb\ufffdc𝄞");
    expect(record.data).toEqual({ "k\ufffd": "\ufffd" });
  });

  it("bounds the data and drops what is not data", () => {
    const cyclic: Record<string, unknown> = { n: 1 };
    cyclic["self"] = cyclic;
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i]));
    const error = Object.assign(new Error("x"), {
      cyclic,
      fn: () => 1,
      socket: new (class Socket {})(),
      many,
      at: new Date(0),
    });
    const { data } = toErrorRecord(error);
    expect(JSON.stringify(data).length).toBeLessThan(10_000);
    const long = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, "x".repeat(5_000)]));
    expect(JSON.stringify(toErrorRecord(Object.assign(new Error("x"), long)).data).length).toBeLessThan(20_000);
    expect(data).not.toHaveProperty("fn");
    expect(data).not.toHaveProperty("socket");
    expect(toErrorRecord(Object.assign(new Error("x"), { at: new Date(0), n: Number.NaN })).data).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      n: "NaN",
    });
  });

  describe("marks what it cuts from the data", () => {
    const dataOf = (fields: object) => toErrorRecord(Object.assign(new Error("x"), fields)).data ?? {};

    it("in a list that is too long, which does not push out the fields beside it", () => {
      const { a, note } = dataOf({ a: Array.from({ length: 500 }, (_, i) => i), note: "n" }) as {
        a: unknown[];
        note: string;
      };
      expect(note).toBe("n");
      expect(a.slice(0, 198)).toEqual(Array.from({ length: 198 }, (_, i) => i));
      expect(a.slice(198)).toEqual(["… [cut]"]);
    });

    it("in an object with too many keys, its own or one inside of it", () => {
      const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, i]));
      const data = dataOf(many);
      expect(Object.keys(data)).toHaveLength(201);
      expect(data).toMatchObject({ k0: 0, k199: 199, "…": "[cut]" });
      const inner = dataOf({ many, orderId: 7 });
      expect(inner).toMatchObject({ many: { k0: 0, k197: 197, "…": "[cut]" }, orderId: 7 });
      expect(inner).not.toHaveProperty("…");
    });

    it("where it lies too deep", () => {
      const deep = (inner: unknown) => ({ a: { b: { c: { d: { e: inner, n: 1 } } } } });
      expect(dataOf(deep({ f: 1 }))).toEqual(deep("… [cut]"));
      expect(dataOf(deep(2))).toEqual(deep(2));
    });

    it("and nothing that just fits, nor a second time what was cut before", () => {
      const list = Array.from({ length: 199 }, (_, i) => i);
      expect(dataOf({ list })).toEqual({ list });
      const record = toErrorRecord(Object.assign(new Error("x"), { a: Array(500).fill({ b: 1 }), note: "n" }));
      expect(toErrorRecord(fromErrorRecord(record))).toEqual(record);
    });
  });

  it("survives hostile values", () => {
    const refuse = () => {
      throw new Error("hands off");
    };
    const proxy = new Proxy({}, { get: refuse, ownKeys: refuse, getPrototypeOf: refuse, has: refuse });
    const getter = Object.defineProperty(new Error("x"), "message", { get: refuse });
    const fieldGetter = Object.defineProperty(new Error("x"), "field", { get: refuse, enumerable: true });
    const selfCaused = new Error("round");
    selfCaused.cause = selfCaused;
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const prototype = Object.assign(new Error("x"), JSON.parse('{"__proto__": {"polluted": 1}}'));
    for (const value of [proxy, getter, fieldGetter, selfCaused, revoked.proxy, prototype]) {
      const record = toErrorRecord(value);
      expect(JSON.parse(JSON.stringify(record))).toEqual(record);
    }
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("makes plain, bounded JSON of anything", () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        (value) => {
          const record = toErrorRecord(value);
          expect(JSON.parse(JSON.stringify(record))).toEqual(record);
        },
      ),
    );
  });
});

describe("fromErrorRecord", () => {
  const record: ErrorRecord = {
    name: "CardError",
    message: "refused",
    kind: "ValidationError",
    code: "card_declined",
    stack: "CardError: refused\n    at charge (bank.ts:1:1)",
    attempts: 3,
    op: "charge",
    data: { limit: 5 },
    cause: { name: "Error", message: "inner", kind: "Unknown" },
  };

  it("restores what was thrown", () => {
    const error = fromErrorRecord(record);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({
      name: "CardError",
      message: "refused",
      kind: "ValidationError",
      code: "step_failed",
      recordedCode: "card_declined",
      stack: record.stack,
      attempts: 3,
      op: "charge",
      data: { limit: 5 },
    });
    expect(error.cause).toMatchObject({ name: "Error", message: "inner", code: "application_error" });
    expect(String(error)).toBe("CardError: refused");
  });

  it("takes the recorded code if it is one of Holdfast's and no op failed", () => {
    const base = { name: "E", message: "m", kind: "Unknown" } as const;
    expect(fromErrorRecord({ ...base, code: "foreign_await" }).code).toBe("foreign_await");
    expect(fromErrorRecord({ ...base, code: "ECONNRESET" }).code).toBe("application_error");
    expect(fromErrorRecord(base).code).toBe("application_error");
    expect(isHoldfastError(fromErrorRecord({ ...base, op: "a", code: "step_timeout" }), "step_failed")).toBe(true);
  });

  it("gives back the same record when the error is recorded again", () => {
    expect(toErrorRecord(fromErrorRecord(record))).toEqual(record);
    const thrown = toErrorRecord(new HoldfastError("outside_turn", "x", { cause: new TypeError("y") }));
    expect(toErrorRecord(fromErrorRecord(thrown))).toEqual(thrown);
  });
});
