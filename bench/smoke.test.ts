// Every workload once, at a size that says nothing about speed: the bench works, and the measured work is done
// correctly.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codecTable } from "./codecs.ts";
import { definitionOf, OWN, PEERS } from "./engines/definitions.ts";
import { type BenchParams, type Measured, measure } from "./lab/bench.ts";
import { withFaultsOf } from "./lab/faults.ts";
import { runRounds, sizeFor } from "./lab/rounds.ts";
import { Stores } from "./lab/stores.ts";
import { faultsOf } from "./report/goals.ts";
import { telemetryTable } from "./telemetry.ts";
import { WORKLOADS, workloadOf } from "./workloads/workloads.ts";

let stores: Stores;
beforeAll(async () => {
  stores = await Stores.open();
}, 60_000);
afterAll(() => stores.close());

async function measureOnce(
  workloadName: string,
  engine: string,
  options: Partial<BenchParams> = {},
): Promise<Measured> {
  const definition = await definitionOf(engine);
  const workload = workloadOf(workloadName);
  const size = sizeFor(workload, definition, "tiny");
  const measured = await measure({ stores, workload, definition, size, sources: true, inProcess: true, ...options });
  const engines = { [engine]: { title: engine, kind: "own", settings: "" } };
  const measurement = { workload: workloadName, engine, round: 1, size, figures: measured.figures };
  expect(faultsOf({ measurements: [measurement], engines })).toBe(0);
  return measured;
}

/** These start separate processes, which takes time: one store each. */
const OF_SEVERAL_PROCESSES: Readonly<Record<string, string>> = {
  cold: "holdfast-sqlite",
  recover: "holdfast-postgres",
  sleepers: "holdfast-sqlite",
  processes: "holdfast-postgres",
  tasks: "holdfast-postgres",
  backlog: "holdfast-sqlite",
  updates: "holdfast-postgres",
  queries: "holdfast-sqlite",
  published: "holdfast-postgres",
};

const CASES = WORKLOADS.flatMap(({ name }) => {
  const one = OF_SEVERAL_PROCESSES[name];
  return one === undefined
    ? [
        [name, "holdfast-postgres"],
        [name, "holdfast-sqlite"],
      ]
    : [[name, one]];
}) as [string, string][];

/** Figures that only some have: counts that a test server need not keep, limits, four processes, long measurements. */
const NOT_ALWAYS = /^(?:statements|buffers|walBytes|writtenBytes|commits|allocated)|Cores$|TwoFlushes$|4$/;

describe("every workload is done right and gives its figures", () => {
  test.each(CASES)("%s on %s", async (workload, engine) => {
    const { figures } = await measureOnce(workload, engine);
    const expected = workloadOf(workload).shown.filter(({ figure }) => !NOT_ALWAYS.test(figure));
    for (const { figure } of expected) expect(figures, figure).toHaveProperty(figure);
    for (const [name, value] of Object.entries(figures)) expect(value, name).not.toBeNaN();
  });

  test.each(["short", "ten", "long", "latency", "tasks", "updates"])(
    "the limit of both stores for %s",
    async (workload) => {
      for (const engine of OWN.filter((name) => name.startsWith("bare"))) {
        const [main] = workloadOf(workload).shown;
        expect((await measureOnce(workload, engine)).figures[main?.figure ?? ""]).toBeGreaterThan(0);
      }
    },
  );
});

test("a measurement in a process of its own counts commits, log and allocations", async () => {
  const { figures } = await measureOnce("ten", "holdfast-postgres", { inProcess: false });
  expect(figures).toMatchObject({ runs: 30, steps: 300, stepsTooMany: 0 });
  expect(figures["commitsPerStep"]).toBeGreaterThan(0);
  expect(figures["walBytesPerStep"]).toBeGreaterThan(17);
  expect(figures["allocatedBytesPerStep"]).toBeGreaterThan(17);
});

test("rounds go over all engines, forward and backward in turn, each after a probe, and keep a failure as one", async () => {
  const sqlite = await definitionOf("holdfast-sqlite");
  const broken = { ...sqlite, name: "broken", open: () => Promise.reject(new Error("it does not open")) };
  const params = { stores, size: "tiny", repeat: 2, othersCoresMax: 99, retryUntil: 0, sources: true } as const;
  const { probes, measurements } = await runRounds({
    ...params,
    workloads: [workloadOf("short")],
    definitions: [sqlite, broken],
    inProcess: true,
    say: () => {},
  });
  expect(measurements.map(({ engine, round }) => `${engine} ${round}`)).toEqual([
    "holdfast-sqlite 1",
    "broken 1",
    "broken 2",
    "holdfast-sqlite 2",
  ]);
  expect(probes.map(({ round }) => round)).toEqual([1, 2]);
  expect(measurements.map(({ error }) => error)).toEqual([
    undefined,
    "it does not open",
    "it does not open",
    undefined,
  ]);
});

test("what went wrong in a measurement that was made again stays on record", () => {
  const figures = withFaultsOf({ steps: 9, stepsTooMany: 0 }, [{ stepsTooMany: -2 }, { stepsTooMany: 0 }]);
  expect(figures).toEqual({ steps: 9, stepsTooMany: 2 });
});

describe("the peers", () => {
  const folder = fileURLToPath(new URL("peers", import.meta.url));

  test.each(readdirSync(folder).filter((name) => name.endsWith(".mjs")))("%s is JavaScript that loads", (name) => {
    const { status, stderr } = spawnSync(process.execPath, ["--check", `${folder}/${name}`], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  test("name workloads that exist, and say how they are set up", async () => {
    for (const peer of PEERS) {
      const { settings, workloads, open, kind } = await definitionOf(peer);
      for (const workload of workloads) expect(workloadOf(workload).name).toBe(workload);
      expect(settings).not.toBe("");
      expect(open).toBeTypeOf("function");
      expect(kind).toMatch(/^(?:engine|queue)$/);
    }
  });
});

test("every telemetry is measured", async () => {
  const lines = (await telemetryTable(1, 5)).split("\n");
  expect(lines).toHaveLength(2 + 5);
  for (const line of lines.slice(2)) expect(line).toMatch(/^\| .+ \| [\d.,]+ \| -?[\d.,]+ \|$/);
});

test("the codecs are measured with every value", () => {
  const lines = codecTable(1).split("\n");
  expect(lines).toHaveLength(2 + 5 * 4);
  for (const line of lines.slice(2)) expect(line).toMatch(/^\| .+ \| `\w+\(\)` \| [\d,]+ \| [\d.,]+ \| [\d.,]+ \|$/);
});
