import { describe, expect, test } from "vitest";
import { checkSizeExceptions, checkSizes, FILE_LINES_MAX, FUNCTION_LINES_MAX, type SizeExceptions } from "./sizes.ts";

const PATH = "packages/holdfast/src/engine/worker/worker.ts";

function check(text: string, exceptions: SizeExceptions = {}, path = PATH): string[] {
  return checkSizes({ path, text }, exceptions).map(({ line, message }) => `${line}: ${message}`);
}

function fileOf(lines: number): string {
  return "export {};\n".repeat(lines);
}

/** `head { … }` over the given number of lines. */
function block(head: string, lines: number, tail = ""): string {
  return `${head} {\n${"  work();\n".repeat(lines - 2)}}${tail}\n`;
}

describe("files", () => {
  test("of the largest size are fine", () => {
    expect(check(fileOf(FILE_LINES_MAX))).toEqual([]);
  });

  test("that are larger are found", () => {
    expect(check(fileOf(FILE_LINES_MAX + 1))).toEqual(["1: the file has 401 lines, at most 400 are allowed; split it"]);
  });

  test("that are lists of names may be larger", () => {
    const list = 'export { a } from "./a.ts";\n'.repeat(FILE_LINES_MAX + 1);
    expect(check(list)).toEqual([]);
    expect(check(`${list}export const b = 1;\n`)).toHaveLength(1);
  });

  test("of tests may be larger", () => {
    expect(check(fileOf(1000), {}, "packages/holdfast/src/engine/worker.test.ts")).toEqual([]);
  });
});

describe("functions", () => {
  test.each([
    ["run", block("function run()", FUNCTION_LINES_MAX + 1)],
    ["run", block("const run = () =>", FUNCTION_LINES_MAX + 1)],
    ["run", block("export const run = async function ()", FUNCTION_LINES_MAX + 1)],
    ["Worker.run", `class Worker { ${block("async run()", FUNCTION_LINES_MAX + 1)} }`],
    ["Worker.run", `class Worker { ${block("#run()", FUNCTION_LINES_MAX + 1)} }`],
    ["Worker.run", `class Worker { ${block("run = () =>", FUNCTION_LINES_MAX + 1)} }`],
    ["store.run", `const store = { ${block("run()", FUNCTION_LINES_MAX + 1)} };`],
    ["callback", block("list.map((item) =>", FUNCTION_LINES_MAX + 1, ");")],
  ])("%s is found when it is too long: %#", (name, text) => {
    expect(check(text)).toEqual([`1: the function ${name} has 71 lines, at most 70 are allowed; split it`]);
  });

  test("of the largest size are fine, however many there are", () => {
    expect(check(block("function one()", FUNCTION_LINES_MAX) + block("function two()", FUNCTION_LINES_MAX))).toEqual(
      [],
    );
  });

  test("are not confused by braces in strings, templates and patterns", () => {
    const text = `function one() { return ["{", \`{\${a}\`, /[{]/]; }\n${"work();\n".repeat(100)}`;
    expect(check(text)).toEqual([]);
  });
});

describe("exceptions", () => {
  const text = fileOf(450);

  test("allow exactly the recorded size", () => {
    expect(check(text, { [PATH]: 450 })).toEqual([]);
  });

  test("must not grow", () => {
    expect(check(text, { [PATH]: 449 })).toEqual([expect.stringContaining("grew from 449 to 450 lines")]);
  });

  test("must be lowered when the file shrank", () => {
    expect(check(text, { [PATH]: 460 })).toEqual([expect.stringContaining(`lower it: "${PATH}": 450`)]);
  });

  test("must be removed when the limit holds again", () => {
    expect(check(fileOf(10), { [PATH]: 460 })).toEqual([expect.stringContaining(`remove "${PATH}"`)]);
  });

  test("hold for a function under its path and name", () => {
    expect(check(block("function run()", 90), { [`${PATH}#run`]: 90 })).toEqual([]);
    expect(check(block("function run()", 80), { [`${PATH}#run`]: 90 })).toEqual([expect.stringContaining("lower it")]);
  });

  test("for what does not exist must be removed", () => {
    const sources = [{ path: PATH, text: block("function run()", 90) }];
    const exceptions = { [PATH]: 450, [`${PATH}#run`]: 90, [`${PATH}#gone`]: 90, "gone.ts": 450 };
    expect(checkSizeExceptions(sources, exceptions).map(({ message }) => message)).toEqual([
      `"${PATH}#gone" does not exist any more; remove it`,
      `"gone.ts" does not exist any more; remove it`,
    ]);
  });
});
