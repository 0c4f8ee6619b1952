// Real processes on a real file: the process that fires the schedules is killed, again and again.
import { connect, silentLogger } from "holdfast";
import { afterEach, beforeEach, expect, test } from "vitest";
import { killChildren, runScript } from "./child-process.ts";
import { temporaryFolder } from "./sqlite-under-test.ts";

const KILLS = 4;

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => {
  killChildren();
  folder.remove();
});

test("leaders that are killed leave no time of a schedule without its run, and none with two", async () => {
  const url = `file:${folder.file("app.db")}`;
  const hf = await connect(url, { logger: silentLogger });
  let leader = runScript("schedule-process.ts", url);
  await leader.wrote(1);
  const schedule = await hf.schedules.create({ id: "s", workflow: "tick", every: "1s", overlap: "allow" });
  for (let i = 0; i < KILLS; i++) {
    const heir = runScript("schedule-process.ts", url);
    await heir.wrote(1);
    const before = (await hf.health()).leader?.workerId;
    expect((await hf.workers.get(before ?? "00000000-0000-7000-8000-000000000000"))?.status).toBe("online");
    await leader.wrote(leader.lines.length + 1);
    await leader.kill();
    // Runs of the dead are done again by the other, and it fires what comes.
    await heir.wrote(heir.lines.length + 3);
    expect((await hf.health()).leader?.workerId).not.toBe(before);
    leader = heir;
  }
  await schedule.pause();
  const { runs } = await schedule.runs({ limit: 1_000 });
  const times = runs.map(({ id }) => Date.parse(id.slice("s@".length))).sort((a, b) => a - b);
  const first = times[0] as number;
  expect(times.length).toBeGreaterThan(2 * KILLS);
  expect(times).toEqual(times.map((_, i) => first + i * 1_000));
  expect(new Set(runs.map(({ runId }) => runId)).size).toBe(times.length);
  const { decisions } = await schedule.describe();
  expect(new Set(decisions.map(({ what }) => what))).toEqual(new Set(["fired"]));
  await hf.close();
}, 60_000);
