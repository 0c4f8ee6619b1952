import { describe, expect, test } from "vitest";
import { checkDeterminism } from "./determinism.ts";

const SOURCE = "packages/holdfast/src/engine/worker/worker.ts";

function check(text: string, path = SOURCE): string[] {
  return checkDeterminism({ path, text }).map(({ line, message }) => `${line}: ${message}`);
}

test.each([
  ["Date.now();", "Date.now"],
  ["const now = Date.now;", "Date.now"],
  ["const { now } = Date;", "Date.now"],
  [`Date["now"]();`, "Date.now"],
  ["globalThis.Date.now();", "Date.now"],
  ["new Date();", "new Date() without arguments"],
  ["new Date;", "new Date() without arguments"],
  ["Date();", "Date()"],
  ["performance.now();", "performance.now"],
  ["process.hrtime.bigint();", "process.hrtime"],
  ["process.nextTick(run);", "process.nextTick"],
  ["Math.random();", "Math.random"],
  ["setTimeout(run, 10);", "setTimeout"],
  ["globalThis.setTimeout(run, 10);", "setTimeout"],
  ["const later = { setTimeout };", "setTimeout"],
  ["setInterval(run, 10);", "setInterval"],
  ["setImmediate(run);", "setImmediate"],
  ["queueMicrotask(run);", "queueMicrotask"],
  ["AbortSignal.timeout(10);", "AbortSignal.timeout"],
  ["Atomics.wait(cells, 0, 0, 10);", "Atomics.wait"],
  [`import { scheduler } from "node:timers/promises";`, `"node:timers/promises"`],
  [`import { randomUUID } from "node:crypto";`, "randomUUID"],
  ["crypto.randomUUID();", "randomUUID"],
  ["nodeCrypto.randomBytes(8);", "randomBytes"],
  ["crypto.getRandomValues(bytes);", "getRandomValues"],
  [`const text = \`at \${Date.now()}\`;`, "Date.now"],
])("%j is found", (text, name) => {
  expect(check(`\n${text}`)).toEqual([expect.stringContaining(`2: ${name} makes runs impossible to simulate`)]);
});

test.each([
  "new Date(timeMs);",
  "Date.parse(text); Date.UTC(2026, 0);",
  "Math.max(1, 2);",
  "clock.now(); clock.setTimeout(run, 10); this.random.next();",
  "class Fake { setTimeout() {} queueMicrotask = 1; }",
  "interface Clock { setTimeout(run: () => void, ms: number): void }",
  "let timer: ReturnType<typeof setTimeout>; const timers = new Set<ReturnType<typeof setTimeout>>();",
  "// Date.now() and setTimeout are named in a comment",
  `const text = "Date.now() setTimeout(run) Math.random()";`,
  "const text = `Math.random() and new Date()`;",
  "const pattern = /Date.now\\(\\)/;",
])("%j is fine", (text) => {
  expect(check(text)).toEqual([]);
});

describe("which files", () => {
  test.each([
    "packages/holdfast/src/system/clock.ts",
    "packages/holdfast/src/system/random.ts",
    "examples/order/main.ts",
    "scripts/bench.ts",
  ])("%s may use the real clock", (path) => {
    expect(check("Date.now();", path)).toEqual([]);
  });

  test.each([
    "packages/sqlite/src/system-clock.ts",
    "packages/holdfast/src/model/run.test.ts",
    "packages/cli/test/a.test.ts",
  ])("%s may not", (path) => {
    expect(check("Date.now();", path)).toHaveLength(1);
  });
});

describe("the comment that allows a use", () => {
  const allowedAbove = "// tidy-allow: the operating system has to deliver a signal\nsetTimeout(run, 10);";
  const allowedBeside = "setTimeout(run, 10); // tidy-allow: the operating system has to deliver a signal";

  test.each([allowedAbove, allowedBeside])("counts in a test: %j", (text) => {
    expect(check(text, "packages/holdfast/test/signals.test.ts")).toEqual([]);
  });

  test("does not count without a reason", () => {
    const text = "// tidy-allow:\nsetTimeout(run, 10);";
    expect(check(text, "packages/holdfast/test/signals.test.ts")).toEqual([
      expect.stringContaining("tidy-allow: reason"),
    ]);
  });

  test("does not count outside of tests", () => {
    expect(check(allowedAbove)).toHaveLength(1);
  });
});
