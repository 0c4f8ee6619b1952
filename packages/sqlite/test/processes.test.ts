import { systemPorts } from "holdfast/adapter";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Connection } from "../src/database/connection.ts";
import { openDatabase } from "../src/database/driver.ts";
import { killChildren, runScript } from "./child-process.ts";
import { openFile, temporaryFolder } from "./sqlite-under-test.ts";

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => {
  killChildren();
  folder.remove();
});

/** How far each run has come, according to the commits acknowledged to the process. */
function acknowledged(lines: readonly string[]): Map<string, number> {
  return new Map(
    lines.flatMap((line) => {
      const [runId, seq] = line.split(" ");
      return runId && seq ? [[runId, Number(seq)]] : [];
    }),
  );
}

async function expectNothingLost(file: string, lines: readonly string[]): Promise<void> {
  const sql = new Connection(await openDatabase(file));
  expect(sql.all("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
  sql.close();
  const { store } = await openFile(file, systemPorts);
  const told = acknowledged(lines);
  expect(told.size).toBeGreaterThan(0);
  for (const [runId, seq] of told) {
    const [events = []] = await store.histories.read({
      runs: [{ namespace: "default", runId, afterSeq: 0 }],
      limitPerRun: 10_000,
    });
    const [row] = await store.runs.read({ runs: [{ namespace: "default", runId }] });
    expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1));
    expect(events.length).toBeGreaterThanOrEqual(seq);
    expect(row).toMatchObject({ eventCount: events.length, commit: events.length });
  }
  await store.close();
}

test("two processes work on one file; one is killed between and in the middle of flushes, the other goes on", async () => {
  const file = folder.file("app.db");
  const survivor = runScript("committing-process.ts", file, "20", "400");
  for (const linesBefore of [1, 200, 600]) {
    const victim = runScript("committing-process.ts", file, "20", "100000");
    await victim.wrote(linesBefore);
    await victim.kill();
    expect(victim.lines.length).toBeGreaterThanOrEqual(linesBefore);
    await expectNothingLost(file, victim.lines);
  }
  await survivor.ended;
  expect(survivor.lines.at(-1)).toBe("done");
  await expectNothingLost(file, survivor.lines);
}, 60_000);

test("processes that create the same file at the same moment agree on one schema", async () => {
  const file = folder.file("fresh.db");
  const all = [1, 2, 3].map(() => runScript("committing-process.ts", file, "3", "5"));
  await Promise.all(all.map(({ ended }) => ended));
  for (const { lines } of all) {
    expect(lines.at(-1)).toBe("done");
    await expectNothingLost(file, lines);
  }
}, 60_000);
