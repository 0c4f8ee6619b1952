import { expect, test } from "vitest";
import { findLeftovers } from "./tarballs.ts";

const ALWAYS = ["package.json", "README.md", "LICENSE"];
const map = (source: string) => () => JSON.stringify({ sources: [source] });

test("a package of a build, its sources and maps between them is fine", () => {
  const files = [...ALWAYS, "dist/a/b.js", "dist/a/b.js.map", "dist/a/b.d.ts", "src/a/b.ts"];
  expect(findLeftovers(files, map("../../src/a/b.ts"))).toEqual([]);
});

test.each([
  ["LICENSE is missing", ["package.json", "README.md"]],
  ["src/a.test.ts is packed", [...ALWAYS, "src/a.test.ts"]],
  ["dist/.tsbuildinfo is packed", [...ALWAYS, "dist/.tsbuildinfo"]],
  ["test/setup.ts is packed", [...ALWAYS, "test/setup.ts"]],
  ["dist/old.js is built from a source that is gone", [...ALWAYS, "dist/old.js"]],
  ["src/a.js.map points to ../src/gone.ts, which is not packed", [...ALWAYS, "src/a.js.map"]],
])("%s: that is found", (finding, files) => {
  expect(findLeftovers(files, map("../src/gone.ts"))).toEqual([finding]);
});
