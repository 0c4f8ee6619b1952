import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { runPrograms } from "./child-process.ts";

test("each program is judged by what it prints and by how it ends, and spoils no other", async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-programs-"));
  const programs = {
    "a-prints": 'console.log("hello", { a: 1 });',
    "b-throws": 'console.log("before"); throw new Error("no");',
    "c-prints-later": 'await new Promise((r) => setTimeout(r, 20)); process.stdout.write("later");',
    "d-leaves-a-timer": "setInterval(() => {}, 1000);",
    "e-exits": "process.exit(3);",
    "f-prints": 'console.log("still there");',
    "g-typed": "const n: number = 1; console.log(n satisfies number);",
  };
  writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
  const files = Object.entries(programs).map(([name, code]) => {
    const file = path.join(folder, `${name}.ts`);
    writeFileSync(file, code);
    return file;
  });
  const outcomes = await runPrograms(files);
  rmSync(folder, { recursive: true });
  const said = files.map((file) => {
    const { printed, fault } = outcomes.get(file) ?? {};
    return [path.basename(file, ".ts"), printed, fault?.split("\n")[0]];
  });
  expect(said).toEqual([
    ["a-prints", "hello { a: 1 }\n", undefined],
    ["b-throws", "before\n", "Error: no"],
    ["c-prints-later", "later", undefined],
    ["d-leaves-a-timer", "", "it does not end on its own: Timeout still open"],
    ["e-exits", "", "its process ended with 3 before the program did"],
    ["f-prints", "still there\n", undefined],
    ["g-typed", "1\n", undefined],
  ]);
});
