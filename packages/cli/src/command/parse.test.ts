import { expect, test } from "vitest";
import { UsageError } from "../io/failure.ts";
import { paintFor } from "../output/paint.ts";
import { complete } from "./completion.ts";
import { commandHelp, GROUPS, groupHelp, verbHelp } from "./help.ts";
import { findVerb, readValues, requireArguments } from "./parse.ts";
import type { Verb } from "./verb.ts";
import { VERBS } from "./verbs.ts";

const verbOf = (path: string): Verb => VERBS.find((verb) => verb.path === path) as Verb;

const read = (...argv: string[]) => {
  const { verb, rest } = findVerb(VERBS, argv);
  return { path: verb?.path, values: readValues(verb, rest) };
};

test("options of all verbs may stand before, between and behind the words of a verb", () => {
  for (const argv of [
    ["--url", "file:a.db", "workflow", "list", "--limit", "3"],
    ["workflow", "--url", "file:a.db", "list", "--limit=3"],
    ["workflow", "list", "--limit", "3", "--url=file:a.db"],
  ]) {
    const { path, values } = read(...argv);
    expect(path).toBe("workflow list");
    expect(values.options.get("url")).toEqual(["file:a.db"]);
    expect(values.options.get("limit")).toEqual(["3"]);
  }
});

test("values may be a dash or a negative number, but not the next option", () => {
  expect(read("workflow", "start", "order", "--input", "-").values.options.get("input")).toEqual(["-"]);
  expect(read("workflow", "start", "order", "--priority", "-3").values.options.get("priority")).toEqual(["-3"]);
  expect(() => read("workflow", "start", "order", "--id", "--wait")).toThrow("--id needs a value");
  expect(() => read("workflow", "list", "--limit")).toThrow("--limit needs a value");
});

test("what is unknown is named, with what may have been meant", () => {
  expect(() => read("workflow", "list", "--limt", "3")).toThrow("Did you mean --limit?");
  expect(() => read("workflow", "start", "order", "--wait=yes")).toThrow("--wait takes no value");
  expect(() => read("workflow", "start", "order", "--id", "a", "--id", "b")).toThrow("--id is given twice");
  expect(() => read("workflow", "start", "order", "--if-running", "ignore")).toThrow("one of return, fail, replace");
  expect(findVerb(VERBS, ["workflw", "list"])).toMatchObject({ unknown: "workflw" });
  expect(findVerb(VERBS, ["workflow", "lst"])).toMatchObject({ unknown: "lst", path: ["workflow"] });
});

test("arguments that are missing or too many are refused", () => {
  expect(() => requireArguments(verbOf("workflow describe"), [])).toThrow("<id> is missing");
  expect(() => requireArguments(verbOf("workflow describe"), ["a", "b"])).toThrow('"b" is too much');
  expect(() => requireArguments(verbOf("worker"), ["a.ts", "b.ts"])).not.toThrow();
  expect(() => requireArguments(verbOf("health"), ["x"])).toThrow(UsageError);
});

test("every verb has help with an example that can be parsed", () => {
  const paint = paintFor({ env: {} }, { write() {} });
  for (const verb of VERBS) {
    expect(verbHelp(verb, paint)).toContain("Examples");
    const own = verb.examples.filter((example) => example.includes(`holdfast`));
    expect([verb.path, own.length > 0]).toEqual([verb.path, true]);
    for (const example of own) {
      const [, line = ""] = /holdfast (.*?)(?: \||>|\)"|$)/.exec(example) ?? [];
      const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? "");
      const found = findVerb(VERBS, words);
      expect([example, found.verb?.path]).toEqual([example, verb.path]);
      requireArguments(verb, readValues(verb, found.rest).words);
    }
  }
  const all = commandHelp(VERBS, paint);
  for (const { path } of VERBS) expect(all).toContain(path.split(" ")[0]);
  expect(groupHelp(VERBS, "schedule", paint)).toContain("backfill <id>");
  for (const line of all.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
});

test("completions know verbs, options and their values", () => {
  const words = (...given: string[]) => complete(VERBS, given).map((line) => line.split("\t")[0]);
  expect(words("workf")).toEqual(["workflow"]);
  expect(words("workflow", "re")).toEqual(["result", "resume", "retry"]);
  expect(words("--url", "file:a.db", "schedule", "cr")).toEqual(["create"]);
  expect(words("workflow", "start", "order", "--if-r")).toEqual(["--if-running"]);
  expect(words("workflow", "start", "order", "--if-running", "")).toEqual(["return", "fail", "replace"]);
  expect(words("workflow", "describe", "")).toEqual([]);
});

test("every group of verbs says what it is about", () => {
  const groups = new Set(VERBS.flatMap(({ path }) => (path.includes(" ") ? [path.split(" ")[0] as string] : [])));
  expect([...groups].filter((group) => !GROUPS[group])).toEqual([]);
});

test("help fits a terminal of 80 columns, but for examples", () => {
  const plain = paintFor({ env: {} }, { write() {} });
  const pages = [commandHelp(VERBS, plain, 80), ...VERBS.map((verb) => verbHelp(verb, plain, 80))];
  const long = pages.flatMap((page) => page.split("\n")).filter((line) => line.length > 80);
  expect(long.filter((line) => !line.startsWith("  holdfast ") && !line.startsWith("  eval "))).toEqual([]);
});
