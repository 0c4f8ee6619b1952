// The generated code is that of the .proto files, and these keep the rules.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = path.join(path.dirname(createRequire(import.meta.url).resolve("@bufbuild/buf/package.json")), "bin", "buf");

function buf(...args: string[]): { readonly status: number | null; readonly output: string } {
  return bufIn(root, ...args);
}

function bufIn(cwd: string, ...args: string[]): { readonly status: number | null; readonly output: string } {
  const near = path.join(root, "..", "..", "node_modules", ".bin");
  const env = { ...process.env, PATH: `${near}${path.delimiter}${process.env["PATH"]}` };
  const { status, stdout, stderr } = spawnSync(bin, args, { cwd, encoding: "utf8", env });
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

const released = path.join(root, "released");
const images = readdirSync(released).filter((name) => name.endsWith(".binpb"));

test.each(images)("programs that were made from %s still work", (image) => {
  expect(buf("breaking", "--against", path.join(released, image))).toEqual({ status: 0, output: "" });
});

test.each([
  ["a field that is gone", "  string task_queue = 2;\n", ""],
  ["a field with another number", "  string task_queue = 2;\n", "  string task_queue = 200;\n"],
  ["a field of another type", "  string task_queue = 2;\n", "  bytes task_queue = 2;\n"],
  ["a call that is gone", / {2}rpc PollTask\(.*\n/, ""],
])("%s is found", (_, from, to) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-protocol-"));
  try {
    for (const name of ["proto", "buf.yaml"])
      cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    const file = path.join(folder, "proto", "holdfast", "v1", "worker.proto");
    const before = readFileSync(file, "utf8");
    const after = before.replace(from, to);
    expect(after).not.toBe(before);
    writeFileSync(file, after);
    const [image = ""] = images;
    const { status, output } = bufIn(folder, "breaking", "--against", path.join(released, image));
    expect(status).toBe(100);
    expect(output).toContain("worker.proto");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
