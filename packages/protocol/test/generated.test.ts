// The generated code is that of the .proto files, and these keep the rules.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = path.join(path.dirname(createRequire(import.meta.url).resolve("@bufbuild/buf/package.json")), "bin", "buf");

function buf(...args: string[]): { readonly status: number | null; readonly output: string } {
  const near = path.join(root, "..", "..", "node_modules", ".bin");
  const env = { ...process.env, PATH: `${near}${path.delimiter}${process.env["PATH"]}` };
  const { status, stdout, stderr } = spawnSync(bin, args, { cwd: root, encoding: "utf8", env });
  return { status, output: stdout + stderr };
}

function filesOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.(?:js|ts)$/.test(name));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(path.join(folder, name), "utf8")]));
}

test("what is committed is what the .proto files say now", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-protocol-"));
  try {
    expect(buf("generate", "--output", folder)).toEqual({ status: 0, output: "" });
    expect(filesOf(path.join(folder, "gen")), "run: npm run generate -w packages/protocol").toEqual(
      filesOf(path.join(root, "gen")),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the .proto files keep the rules of buf", () => {
  expect(buf("lint")).toEqual({ status: 0, output: "" });
});
