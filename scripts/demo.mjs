// Starts a server with a few hundred runs in every state, and the dashboard on it:
//   npm run demo [-- --port 8000]
import { existsSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { bin, ensureInstalled, root, run } from "./ensure-installed.mjs";

ensureInstalled();
const built = run(bin("tsc"), ["-b"]);
if (built !== 0) process.exit(built);
const dashboard = path.join(root, "packages", "dashboard");
if (!existsSync(path.join(dashboard, "dist", "ui", "index.html"))) {
  const pages = run(bin("vite"), ["build", path.join(dashboard, "ui"), "--logLevel", "warn"]);
  if (pages !== 0) process.exit(pages);
}
// Each demo begins with the same runs.
const folder = path.join(root, "node_modules", ".cache", "demo");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const cli = path.join(root, "packages", "cli", "bin", "holdfast.js");
process.exit(
  run(process.execPath, [
    cli,
    "dev",
    "--demo",
    "--url",
    `file:${path.join(folder, "demo.db")}`,
    ...process.argv.slice(2),
  ]),
);
