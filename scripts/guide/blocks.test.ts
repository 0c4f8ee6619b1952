import { describe, expect, test } from "vitest";
import { readBlocks } from "./blocks.ts";

const page = (...lines: string[]): string => lines.join("\n");

describe("readBlocks", () => {
  test("finds programs, with the line on which they begin and what they print", () => {
    const text = page("# Title", "", "```ts", 'console.log("a");', "```", "", "Prints:", "", "```text", "a", "```", "");
    expect(readBlocks("p", text)).toEqual([
      { page: "p", line: 4, kind: "program", file: "line-4.ts", code: 'console.log("a");\n', output: "a\n" },
    ]);
  });

  test("takes a text block as output only of the block right before it", () => {
    const text = page("```ts", "one();", "```", "```ts", "two();", "```", "```text", "2", "```");
    expect(readBlocks("p", text).map(({ output }) => output)).toEqual(["", "2\n"]);
  });

  test("tells tests and fragments apart, and knows names of files", () => {
    const vitest = 'import { test } from "vitest";';
    const text = page("```ts", vitest, "```", "```ts fragment", "go();", "```", "```ts file=order.ts", "a();", "```");
    expect(readBlocks("p", text).map(({ kind, file }) => [kind, file])).toEqual([
      ["test", "line-2.test.ts"],
      ["fragment", "line-5.ts"],
      ["program", "order.ts"],
    ]);
  });

  test("leaves other languages alone", () => {
    expect(readBlocks("p", page("```sh", "npm test", "```", "```tsx", "<p/>", "```"))).toEqual([]);
  });

  test("refuses words that it does not know, so that no block is left out by a slip", () => {
    expect(() => readBlocks("p", page("", "```ts fragmnet", "go();", "```"))).toThrow(
      "p.md:2: unknown block ```ts fragmnet",
    );
  });

  test("refuses a block without end", () => {
    expect(() => readBlocks("p", page("```ts", "go();"))).toThrow("p.md:1: the code block has no end");
  });
});
