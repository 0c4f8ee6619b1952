// Runs the long campaign on the sources: npm run torture -- --help
import { spawn } from "node:child_process";
import process from "node:process";
import { ensureInstalled, root } from "./ensure-installed.mjs";

ensureInstalled();
const args = ["--conditions=holdfast-source", "--import", "tsx", "torture/main.ts", ...process.argv.slice(2)];
// The channel exists to be closed: if this process is killed, the campaign notices and ends.
const campaign = spawn(process.execPath, args, { cwd: root, stdio: ["inherit", "inherit", "inherit", "ipc"] });
// The terminal sends an interrupt to both; the campaign decides what to do about it.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => campaign.kill("SIGTERM"));
campaign.on("exit", (code) => process.exit(code ?? 1));
