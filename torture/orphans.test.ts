import { fork } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openStage } from "./stage.ts";

const FIXTURE = fileURLToPath(new URL("./orphans-fixture.ts", import.meta.url));

test("worker processes do not outlive a harness that is killed, not even those that stand still", async () => {
  const stage = await openStage(`file:${path.join(tmpdir(), "app.db")}`);
  const setup = { place: stage.place, effectsFile: path.join(stage.folder, "effects.jsonl") };
  const { NODE_OPTIONS: _, ...env } = process.env;
  const execArgv = ["--conditions=holdfast-source", "--import", "tsx"];
  const harness = fork(FIXTURE, [JSON.stringify(setup)], { env, execArgv });
  const pids = await new Promise<number[]>((resolve) => harness.once("message", (sent) => resolve(sent as number[])));
  expect(pids.map(isThere)).toEqual([true, true]);
  harness.kill("SIGKILL");
  while (pids.some(isThere)) await new Promise((resolve) => setImmediate(resolve));
  await stage.remove();
});

/** A dead process that only waits to be collected (a zombie) does not count. */
function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" && !existsSync("/proc/self");
  }
}
