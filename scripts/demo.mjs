// Starts a server with a few hundred runs in every state, and the dashboard on it:
//   npm run demo [-- --port 8000]
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { bin, ensureInstalled, root, run } from "./ensure-installed.mjs";

const HURRY_MS = 250;

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
const url = `file:${path.join(folder, "demo.db")}`;
const server = spawn(process.execPath, [cli, "dev", "--demo", "--url", url, ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
// Ctrl-C reaches the server as well, which drains; a second signal ends it at once. A demo has nothing that is worth waiting for.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => setTimeout(() => server.kill(signal), HURRY_MS));
// npm ends before this process does: whoever has typed Ctrl-C has the prompt back, and nothing may follow it.
const starter = process.ppid;
const alone = setInterval(() => {
  if (process.ppid === starter) return;
  clearInterval(alone);
  server.kill("SIGINT");
}, HURRY_MS);
server.once("exit", (code) => process.exit(code ?? 1));
