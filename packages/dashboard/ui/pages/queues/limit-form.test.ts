import { expect, test } from "vitest";
import { changesOf, describeLimits, type LimitTexts, limitsOf, textsOf } from "./limit-form.ts";

const EMPTY = textsOf({});
const read = (over: Partial<LimitTexts>, before = {}) => limitsOf({ ...EMPTY, ...over }, before);

test("limits survive the way through the form", () => {
  const limits = {
    concurrency: 10,
    rate: { limit: 100, per: "1s", burst: 20 },
    perKey: { concurrency: 2, rate: { limit: 5, per: "1m" } },
    backlog: 1000,
    fair: true,
    weights: { gold: 5 },
    aging: "10m",
  };
  expect(limitsOf(textsOf(limits), limits)).toEqual({ limits });
});

test("durations in milliseconds become readable", () => {
  const texts = textsOf({ rate: { limit: 1, per: 60_000 }, perKey: { rate: { limit: 1, per: 1_500 } } });
  expect([texts.per, texts.keyPer]).toEqual(["1m", "1500ms"]);
  expect(textsOf({ rate: { limit: 1, per: { minutes: 1, seconds: 30 } } }).per).toBe("90s");
});

test("empty fields remove limits, and what has no field stays", () => {
  expect(read({}, { concurrency: 3, weights: { a: 2 }, fair: true })).toEqual({
    limits: { weights: { a: 2 }, fair: true },
  });
});

test("zero places let nothing begin, which is not the same as no limit", () => {
  expect(read({ concurrency: "0" })).toEqual({ limits: { concurrency: 0 } });
});

test("each problem stands at its field", () => {
  const result = read({ concurrency: "-1", rate: "x", keyRate: "5", keyPer: "soon", backlog: "1.5" });
  expect(Object.keys("problems" in result ? result.problems : {}).sort()).toEqual(
    ["backlog", "concurrency", "keyPer", "rate"].sort(),
  );
});

test("a time without a rate is no limit", () => {
  expect(read({ per: "5m" })).toEqual({ limits: {} });
});

test("limits and their changes are told in words", () => {
  const limits = { concurrency: 1_000, rate: { limit: 5, per: "1s", burst: 10 }, perKey: { concurrency: 2 } };
  expect(describeLimits(limits)).toEqual(["1,000 at once", "5 per 1s, bursts of 10", "2 at once for each key"]);
  expect(changesOf(limits, { ...limits, concurrency: 5 })).toEqual(["No longer: 1,000 at once", "New: 5 at once"]);
  expect(changesOf(limits, limits)).toEqual([]);
});

test("a burst that is the limit is not told", () => {
  expect(describeLimits({ rate: { limit: 5, per: { seconds: 1 }, burst: 5 } })).toEqual(["5 per 1s"]);
});
