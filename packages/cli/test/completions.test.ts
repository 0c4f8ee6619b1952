// The completion scripts in the shells themselves: on a pseudo-terminal, where somebody presses Tab.
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findOrUnpackShell } from "../../../scripts/test-servers.mjs";
import { SHELLS, type Shell } from "../src/command/completion.ts";
import { ChildCommand } from "./child-command.ts";
import { bin, newFolder, nodeArgs } from "./command-under-test.ts";

const folder = newFolder();
const onLinux = process.platform === "linux";

/** Without the settings of whoever runs the tests, and how it begins to complete: as its users are told to. */
const WAYS: Readonly<Record<Shell, { readonly flags: readonly string[]; readonly begin: readonly string[] }>> = {
  bash: { flags: ["--norc", "--noprofile", "-i"], begin: ['eval "$(holdfast completion bash)"'] },
  zsh: {
    flags: ["-f", "-i"],
    begin: ["autoload -Uz compinit", "compinit -D -u", 'eval "$(holdfast completion zsh)"'],
  },
  fish: { flags: ["--no-config", "-i"], begin: ["holdfast completion fish | source"] },
};

beforeAll(() => {
  const command = [process.execPath, ...nodeArgs, bin].map((word) => `'${word}'`).join(" ");
  // Only completion is asked of the command; every other line is told.
  const script = `case "$1" in completion|--complete) exec ${command} "$@" ;; esac\necho "told: $*."\n`;
  writeFileSync(path.join(folder, "holdfast"), `#!/bin/sh\n${script}`);
  chmodSync(path.join(folder, "holdfast"), 0o755);
  writeFileSync(path.join(folder, "shipments.ts"), "");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.concurrent("Tab", { timeout: 60_000 }, () => {
  for (const name of SHELLS) {
    const shell = onLinux ? findOrUnpackShell(name) : { missing: "script of util-linux makes the terminal" };

    // skip: there is no such shell, and no package of Debian to get it from
    test.skipIf(shell.missing !== undefined)(`completes verbs, values and files in ${name}`, async () => {
      if (shell.missing !== undefined) return;
      const { flags, begin } = WAYS[name];
      const settings = path.join(folder, `settings.${name}`);
      writeFileSync(settings, [...shell.setup, ...begin, "echo ready", ""].join("\n"));
      const child = new ChildCommand(flags, {
        executable: shell.program,
        terminal: 120,
        cwd: folder,
        env: { ...shell.env, PATH: `${folder}:${process.env["PATH"]}`, HOME: folder },
      });
      try {
        child.type(`source ${settings}\r`);
        await child.wrote("ready\r\n");
        for (const [typed, told] of [
          // A URL has a colon, where bash begins another word.
          ["--url file:app.db workflow pau", "--url file:app.db workflow pause"],
          ["server --auth j", "server --auth jwt"],
          ["dev ship", "dev shipments.ts"],
        ] as const) {
          child.type(`holdfast ${typed}\t\r`);
          await child.wrote(`told: ${told}.`);
        }
        child.type("holdfast queue \t\t");
        await child.wrote(name === "bash" ? "list  set" : "set the limits of a queue");
        expect(child.out.slice(child.out.lastIndexOf("holdfast queue"))).not.toContain("shipments.ts");
      } finally {
        child.kill();
      }
    });
  }
});
