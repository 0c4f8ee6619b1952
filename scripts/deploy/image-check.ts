// Takes the steps of the image's last stage in an empty folder, and uses what comes out as the image does: the command on the PATH, as
// another user than root, who may write nothing there.
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { command } from "../packages/commands.ts";
import { root as repository } from "../packages/published-packages.ts";
import { readDockerfile, runSteps } from "./dockerfile.ts";

/** `folder` has `packages/` with the packed packages, as the first stage leaves them. */
export async function checkImage(folder: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const steps = readDockerfile(readFileSync(path.join(repository, "deploy/image/Dockerfile"), "utf8"));
  const last = steps.findLastIndex(({ word }) => word === "FROM");
  mkdirSync(path.join(folder, "home"), { recursive: true });
  runSteps(steps.slice(last), { root: folder, env });
  const app = path.join(folder, "app");
  const holdfast = path.join(app, "node_modules", ".bin", "holdfast");
  const store = ["--url", `file:${path.join(folder, "image.db")}`];
  await command(holdfast, ["migrate", ...store], { cwd: app });
  const count = await command(holdfast, ["workflow", "count", ...store], { cwd: app });
  if (count.trim() !== "0") throw new Error(`the command of the image counted ${count}`);
  for (const name of ["server", "postgres", "remote", "sqlite"])
    await command(process.execPath, ["-e", `import("@holdfast/${name}")`], { cwd: app });
  return (await command(holdfast, ["--version"], { cwd: app })).trim();
}
