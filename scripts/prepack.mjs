// Runs before a package is packed or published: builds it, and removes from dist what an earlier build left behind for
// deleted sources.
import { existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { bin, run } from "./ensure-installed.mjs";

const folder = process.cwd();
const dist = path.join(folder, "dist");
const source = path.join(folder, "src");

if (existsSync(dist)) {
  for (const file of readdirSync(dist, { recursive: true })) {
    const stem = /^(.*)\.(?:js|d\.ts)(?:\.map)?$/.exec(file)?.[1];
    // The pages of the dashboard are built by another program.
    if (file.startsWith("ui/") || file.startsWith("ui\\")) continue;
    if (stem !== undefined && !existsSync(path.join(source, `${stem}.ts`))) rmSync(path.join(dist, file));
  }
}
const code = run(bin("tsc"), ["-b", folder]);
if (code === 0 && existsSync(path.join(folder, "ui")))
  process.exit(run(bin("vite"), ["build", path.join(folder, "ui")]));
process.exit(code);
