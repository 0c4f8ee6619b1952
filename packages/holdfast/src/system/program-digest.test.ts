import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { digestOfProgram } from "./program-digest.ts";

/** A program in a folder of its own; answers its digest. */
function digestOf(files: Readonly<Record<string, string>>): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-program-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return digestOfProgram(join(folder, "order.ts"));
}

const PROGRAM = {
  "order.ts": 'import { price } from "./pricing/index.js";\nimport pg from "pg";\nexport const order = () => price();',
  "pricing/index.ts": 'export { price } from "./price";\nconst later = () => import("../later.ts");',
  "pricing/price.ts": "export const price = () => 1;",
  "later.ts": "export default 1;",
  "unused.ts": "export default 2;",
  "package.json": '{ "version": "1.0.0" }',
};

test("the digest of a program is the same wherever it lies", () => {
  expect(digestOf(PROGRAM)).toMatch(/^[0-9a-f]{64}$/);
  expect(digestOf(PROGRAM)).toBe(digestOf(PROGRAM));
});

test.each(["order.ts", "pricing/index.ts", "pricing/price.ts", "later.ts", "package.json"] as const)(
  "it changes with %s",
  (name) => {
    expect(digestOf({ ...PROGRAM, [name]: `${PROGRAM[name]} ` })).not.toBe(digestOf(PROGRAM));
  },
);

test("it does not change with a file that the program does not import", () => {
  expect(digestOf({ ...PROGRAM, "unused.ts": "export default 3;" })).toBe(digestOf(PROGRAM));
});

test("modules that import each other come to an end", () => {
  const circle = { "order.ts": 'import "./other.ts";', "other.ts": 'import "./order.ts";' };
  expect(digestOf(circle)).toMatch(/^[0-9a-f]{64}$/);
});

test("there is none for a file that cannot be read", () => {
  expect(digestOfProgram("/nowhere/order.ts")).toBeUndefined();
});
