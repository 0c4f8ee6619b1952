// The completion scripts in the shells themselves: what Tab offers.
import { spawnSync } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { completionScript } from "../src/command/completion.ts";
import { bin, newFolder, nodeArgs } from "./command-under-test.ts";

const folder = newFolder();
const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}`, HOME: folder, TERM: "dumb" };
const has = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;
const ask = (shell: string, script: string, ...flags: string[]): string => {
  const { status, stdout, stderr } = spawnSync(shell, [...flags, "-c", script], { encoding: "utf8", env, cwd: folder });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout;
};

beforeAll(() => {
  const command = [process.execPath, ...nodeArgs, bin].map((word) => `'${word}'`).join(" ");
  const program = path.join(folder, "holdfast");
  writeFileSync(program, `#!/bin/sh\nexec ${command} "$@"\n`);
  chmodSync(program, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// skip: not every machine has every shell
test.skipIf(!has("bash"))(
  "bash offers verbs, options and their values",
  () => {
    const tab = (...words: string[]): string => `
COMP_WORDS=(holdfast ${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length}
compopt() { echo files; }
_holdfast
printf '%s\\n' "\${COMPREPLY[@]}" "--"
`;
    const out = ask(
      "bash",
      completionScript("bash") + tab("sched") + tab("workflow", "pau") + tab("server", "--auth", "j"),
    );
    expect(out.split("\n").slice(0, 6)).toEqual(["schedule", "--", "pause", "--", "jwt", "--"]);
  },
  30_000,
);

// skip: not every machine has every shell
test.skipIf(!has("fish"))(
  "fish offers them with what they are",
  () => {
    const out = ask(
      "fish",
      `${completionScript("fish")}complete -C "holdfast workflow pau"\ncomplete -C "holdfast server --auth j"\n`,
      "--no-config",
    );
    expect(out).toMatch(/^pause\t.+\njwt\t.+\n$/);
  },
  30_000,
);

// skip: not every machine has every shell
test.skipIf(!has("zsh"))(
  "zsh accepts the script, and gets words with their descriptions",
  () => {
    const stubs = `compdef() { :; }\n_describe() { shift; print -rl -- "\${(@P)1}"; }\n_files() { print files; }\n`;
    const out = ask(
      "zsh",
      `${stubs}${completionScript("zsh")}words=(holdfast workflow pau)\nCURRENT=3\n_holdfast\n`,
      "-f",
    );
    expect(out).toMatch(/^pause:.+\n$/);
  },
  30_000,
);
