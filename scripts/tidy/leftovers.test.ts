import { expect, test } from "vitest";
import { checkLeftovers } from "./leftovers.ts";

function check(path: string, text: string): string[] {
  return checkLeftovers({ path, text }).map(({ line, message }) => `${line}: ${message}`);
}

test.each([
  ["package-lock.json", `"resolved": "https://registry.example/a.tgz"`, "a download address"],
  ["examples/package-lock.json", `"resolved": "http://localhost:4873/a.tgz"`, "a download address"],
  ["examples/.npmrc", "registry=https://registry.example/", "a registry"],
  [".npmrc", "@holdfast:registry = https://registry.example/", "a registry"],
  ["src/run.ts", "// TODO: finish", "a note about unfinished work"],
  ["src/run.ts", "/* FIXME */", "a note about unfinished work"],
  ["src/schema.sql", "-- XXX", "a note about unfinished work"],
  ["docs/guide.md", "see /home/alice/holdfast", "a path of one machine"],
  ["src/run.ts", `const file = "/Users/alice/app.db";`, "a path of one machine"],
  ["src/run.ts", `const file = "C:\\\\Users\\\\alice";`, "a path of one machine"],
])("%s must not hold %j", (path, text, message) => {
  expect(check(path, `\n${text}\n`)).toEqual([expect.stringContaining(`2: ${message}`)]);
});

test.each([
  ["package-lock.json", `"resolved": "packages/holdfast", "link": true`],
  [".npmrc", "omit-lockfile-registry-resolved=true"],
  ["src/run.ts", `test.todo("a"); const todoList = [];`],
  ["src/run.ts", `const url = "https://example.com/home/page"; const route = "./root/index.ts";`],
  ["docs/guide.md", "The word TODO may stand in a guide."],
])("%s may hold %j", (path, text) => {
  expect(check(path, text)).toEqual([]);
});
