import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect, signal, workflow } from "holdfast";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../packages/holdfast/src/ports/logger.ts";
import { systemPorts } from "../packages/holdfast/src/system/ports.ts";
import { openStore } from "../packages/sqlite/src/index.ts";
import { killChildren, runScript } from "../packages/sqlite/test/child-process.ts";
import { parcelWorkflow, shipped } from "../packages/sqlite/test/parcel-workflow.ts";
import { checkHistories } from "./checkers/index.ts";
import { readEvidence } from "./stored-evidence.ts";

const note = signal<number>("note");
const order = workflow("order", async (ctx) => {
  const paid = await ctx.step("pay", () => "paid", { compensate: () => {} });
  ctx.set({ paid: true });
  await ctx.sleep("rest", "10ms");
  return [paid, await ctx.receive(note)];
});

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "holdfast-evidence-"));
});

afterEach(() => {
  killChildren();
  rmSync(folder, { recursive: true, force: true });
});

async function evidenceAt(url: string) {
  const { store } = await openStore(url, { ...systemPorts, log: silentLogger });
  const evidence = await readEvidence(store, "default");
  await store.close();
  return evidence;
}

/** A few runs in a file, and the evidence read from it. */
async function evidenceFromFile() {
  const url = `file:${path.join(folder, "app.db")}`;
  const hf = await connect(url, { logger: silentLogger });
  await hf.worker({ workflows: [order] }).start();
  const runs = await Promise.all(["a", "b", "c"].map((id) => hf.start(order, undefined, { id })));
  for (const run of runs) await run.signal(note, 1);
  await Promise.all(runs.map((run) => run.result()));
  await hf.close();
  return evidenceAt(url);
}

test("the checkers judge what a real store has kept", async () => {
  const evidence = await evidenceFromFile();
  const kept = evidence.runs.map(({ run, history }) => `${run.id} ${run.status} ${history.length}`);
  expect(kept.sort()).toEqual(["a completed 6", "b completed 6", "c completed 6"]);
  expect(await checkHistories(evidence)).toEqual([]);
});

test("and notice when it has not kept what it should", async () => {
  const evidence = await evidenceFromFile();
  const [first, ...others] = evidence.runs;
  const damaged = { ...first!, history: first!.history.filter((event) => event.seq !== 2) };
  const violations = await checkHistories({ ...evidence, runs: [damaged, ...others] });
  expect(new Set(violations.map(({ checker }) => checker))).toEqual(new Set(["history-unbroken", "row-is-fold"]));
  expect(new Set(violations.map(({ runId }) => runId))).toEqual(new Set([first!.run.runId]));
});

test("what a killed process has left behind, and another has finished, passes them", { timeout: 60_000 }, async () => {
  const url = `file:${path.join(folder, "app.db")}`;
  const victim = runScript("engine-process.ts", url);
  await victim.wrote(1);
  const hf = await connect(url, { logger: silentLogger });
  const runs = await Promise.all(["a", "b"].map((id) => hf.start("parcel", { to: id }, { id })));
  for (const run of runs) await run.signal(shipped, { carrier: "x" });
  await victim.wrote(1 + 2 * runs.length);
  await victim.kill();
  const parcel = parcelWorkflow({ pack: () => "packed", deliver: () => "delivered" });
  await hf.worker({ workflows: [parcel], lease: "1s" }).start();
  await Promise.all(runs.map((run) => run.result()));
  await hf.close();
  const evidence = await evidenceAt(url);
  expect(evidence.runs.map(({ run }) => run.status)).toEqual(["completed", "completed"]);
  expect(await checkHistories(evidence)).toEqual([]);
});
