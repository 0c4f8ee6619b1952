// What the command loads before it answers: counted, because a time depends on the machine.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { bin, nodeArgs } from "./command-under-test.ts";

/** The sources that `holdfast …` loads, by their paths below packages/. */
function loadedBy(...argv: string[]): string[] {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-loaded-"));
  try {
    const { status, stderr } = spawnSync(process.execPath, [...nodeArgs, bin, ...argv], {
      encoding: "utf8",
      env: { ...process.env, NODE_V8_COVERAGE: folder },
    });
    expect(status, stderr).toBe(0);
    const urls = readdirSync(folder).flatMap((file) => {
      const { result } = JSON.parse(readFileSync(path.join(folder, file), "utf8")) as { result: { url: string }[] };
      return result.map(({ url }) => url);
    });
    return urls.flatMap((url) => /\/packages\/(.*\.ts)/.exec(url)?.[1] ?? []).sort();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("--version loads the program and its version, and nothing else", () => {
  expect(loadedBy("--version")).toEqual(["cli/src/bin.ts", "cli/src/version.ts"]);
});

test.each([["--help"], ["workflow", "start", "--help"], ["--complete", "work"]])(
  "%s loads no verb, and nothing of the other packages",
  (...argv) => {
    const loaded = loadedBy(...argv);
    expect(loaded.filter((file) => !file.startsWith("cli/src/"))).toEqual([]);
    expect(loaded.filter((file) => file.startsWith("cli/src/verbs/") && !file.endsWith("/table.ts"))).toEqual([]);
  },
);
