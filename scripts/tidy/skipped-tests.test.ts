import { expect, test } from "vitest";
import { checkSkippedTests } from "./skipped-tests.ts";

function check(text: string, path = "packages/holdfast/src/model/run.test.ts"): string[] {
  return checkSkippedTests({ path, text }).map(({ line, message }) => `${line}: ${message}`);
}

test.each([
  `test.only("a", run);`,
  `describe.only("a", run);`,
  `it.concurrent.only("a", run);`,
  `test.only.each([1])("a", run);`,
  `test("a", { only: true }, run);`,
  `// skip: a reason does not help\ntest.only("a", run);`,
])("a focused test is found: %j", (text) => {
  expect(check(text)).toEqual([expect.stringContaining(".only hides every other test")]);
});

test.each([
  `test.skip("a", run);`,
  `test.todo("a");`,
  `describe.skipIf(!url)("a", run);`,
  `test.runIf(url)("a", run);`,
  `const withServer = test.skipIf(!url);`,
  `test("a", { skip: true }, run);`,
  `test("a", (ctx) => ctx.skip());`,
  `// skip:\ntest.skip("a", run);`,
  `// because it is slow\ntest.skip("a", run);`,
  `// skip: too far above\n\ntest.skip("a", run);`,
])("a skipped test without a reason is found: %j", (text) => {
  expect(check(text)).toEqual([expect.stringContaining("needs its reason in a comment on the line before")]);
});

test.each([
  `test("a", run);`,
  `// skip: needs a server, whose address is in DATABASE_URL\ndescribe.skipIf(!url)("a", run);`,
  `// skip: needs a server\ntest\n  .skipIf(!url)\n  .each([1])("a", run);`,
  `// test.only("a") in a comment`,
  `const text = "test.only()";`,
  "page.skip(10); list.only;",
])("%j is fine", (text) => {
  expect(check(text)).toEqual([]);
});

test("a suite that tests import is held to the same rule", () => {
  const text = `import { test } from "vitest";\ntest.skip("a", run);`;
  expect(check(text, "packages/holdfast/src/testing/store-suite.ts")).toHaveLength(1);
});
