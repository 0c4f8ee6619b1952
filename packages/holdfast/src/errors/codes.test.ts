import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isErrorKind } from "../model/error-kind.ts";
import { ACCESS_CODES } from "./access-codes.ts";
import { CALLER_ACTIONS, ERROR_GROUPS, type ErrorCodeInfo } from "./code-info.ts";
import { ERROR_CODES, isErrorCode } from "./codes.ts";
import { CONVERSATION_CODES } from "./conversation-codes.ts";
import { INPUT_CODES } from "./input-codes.ts";
import { RUN_CODES } from "./run-codes.ts";
import { SYSTEM_CODES } from "./system-codes.ts";
import { TASK_CODES } from "./task-codes.ts";

const documentUrl = new URL("../../../../docs/errors.md", import.meta.url);
const codes = Object.entries(ERROR_CODES) as [string, ErrorCodeInfo][];

function codeRow([code, info]: [string, ErrorCodeInfo]): string {
  const cells = [`\`${code}\``, info.group, info.caller, info.kind, info.summary, info.advice];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function documentRows(): string[] {
  return readFileSync(documentUrl, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
}

describe("the registry of codes", () => {
  it.each(codes)("%s is complete", (code, info) => {
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(ERROR_GROUPS).toContain(info.group);
    expect(CALLER_ACTIONS).toHaveProperty(info.caller);
    expect(isErrorKind(info.kind)).toBe(true);
    expect(info.summary).toMatch(/^[A-Z].*\.$/s);
    expect(info.advice).toMatch(/\.$/);
  });

  it("names no code in two of its parts", () => {
    const names = [INPUT_CODES, RUN_CODES, TASK_CODES, SYSTEM_CODES, CONVERSATION_CODES, ACCESS_CODES].flatMap((part) =>
      Object.keys(part),
    );
    expect(names).toHaveLength(codes.length);
  });

  it("has the seventeen groups", () => {
    expect(new Set(ERROR_GROUPS).size).toBe(17);
  });

  it("recognises its codes and nothing that every object has", () => {
    expect(isErrorCode("run_failed")).toBe(true);
    expect(isErrorCode("toString")).toBe(false);
    expect(isErrorCode(undefined)).toBe(false);
  });
});

describe("docs/errors.md", () => {
  it("has a row for every code, word for word", () => {
    const rows = new Set(documentRows());
    const missing = codes.map(codeRow).filter((row) => !rows.has(row));
    expect(missing, "rows missing in docs/errors.md").toEqual([]);
  });

  it("has a row for every answer to what the caller does", () => {
    const rows = new Set(documentRows());
    const expected = Object.entries(CALLER_ACTIONS).map(([action, meaning]) => `| \`${action}\` | ${meaning} |`);
    expect(expected.filter((row) => !rows.has(row))).toEqual([]);
  });

  it("has no row for anything else", () => {
    const known = new Set([...codes.map(([code]) => code), ...Object.keys(CALLER_ACTIONS)]);
    const strangers = documentRows().filter((row) => !known.has(row.split("`")[1] ?? ""));
    expect(strangers).toEqual([]);
    expect(documentRows()).toHaveLength(known.size);
  });
});
