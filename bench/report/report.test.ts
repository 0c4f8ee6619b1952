import { describe, expect, test } from "vitest";
import { barChart } from "./chart.ts";
import { faultsOf, judge } from "./goals.ts";
import { Medians, median } from "./medians.ts";
import { chartsOf, fillIn, generatedParts } from "./page.ts";
import type { Measurement, Results } from "./results.ts";
import { markdownTable, plainTable } from "./table.ts";

function measurement(engine: string, round: number, stepsPerSecond: number): Measurement {
  return { workload: "ten", engine, round, size: {}, figures: { stepsPerSecond } };
}

const results: Results = {
  date: "2026-11-15",
  size: "normal",
  machine: { processor: "2 cores" },
  versions: { Node: "20" },
  engines: {
    "holdfast-postgres": { title: "Holdfast, PostgreSQL", kind: "own", settings: "default" },
    dbos: { title: "DBOS Transact", kind: "engine", settings: "pool 20" },
  },
  probes: [],
  measurements: [
    measurement("holdfast-postgres", 1, 20_000),
    measurement("dbos", 1, 1_000),
    measurement("holdfast-postgres", 2, 10_000),
    measurement("dbos", 2, 1_000),
    measurement("holdfast-postgres", 3, 4_000),
    measurement("dbos", 3, 100),
  ],
};
const medians = new Medians(results.measurements);

describe("medians", () => {
  test("are the middle, or between the two in the middle", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([])).toBeUndefined();
  });

  test("of a ratio are taken inside the rounds", () => {
    expect(medians.ratio("ten", "stepsPerSecond", "holdfast-postgres", "dbos")).toBe(20);
    expect(medians.value("ten", "dbos", "stepsPerSecond")).toBe(1_000);
    expect(medians.ratio("ten", "stepsPerSecond", "holdfast-postgres", "restate")).toBeUndefined();
  });

  test("of engines that were not measured in the same rounds are compared as a whole", () => {
    const apart = new Medians([measurement("holdfast-postgres", 2, 30), measurement("dbos", 1, 10)]);
    expect(apart.ratio("ten", "stepsPerSecond", "holdfast-postgres", "dbos")).toBe(3);
  });
});

describe("a goal", () => {
  const goal = { text: "fast", figure: (m: Medians) => m.value("ten", "dbos", "stepsPerSecond") };

  test("is met at its bound and not beyond", () => {
    expect(judge({ ...goal, atLeast: 1_000 }, medians).met).toBe(true);
    expect(judge({ ...goal, atLeast: 1_001 }, medians).met).toBe(false);
    expect(judge({ ...goal, atMost: 1_000 }, medians).met).toBe(true);
    expect(judge({ ...goal, atMost: 999 }, medians)).toMatchObject({ met: false, target: "at most 999" });
  });

  test("about something that was not measured is neither met nor missed", () => {
    expect(judge({ ...goal, figure: () => undefined, atMost: 1 }, medians).met).toBeUndefined();
    expect(judge({ ...goal, figure: () => Number.NaN, atMost: 1 }, medians).met).toBeUndefined();
  });

  test("counts what went wrong in our own measurements only", () => {
    const wrong = (engine: string) => ({ ...measurement(engine, 4, 1), figures: { stepsTooMany: 2, missing: -1 } });
    expect(faultsOf({ ...results, measurements: [wrong("holdfast-postgres"), wrong("dbos")] })).toBe(3);
    const failed = { ...measurement("holdfast-postgres", 4, 1), error: "broken" };
    expect(faultsOf({ ...results, measurements: [failed] })).toBe(1);
  });
});

describe("the page", () => {
  test("keeps what is written by hand, and can be written again", () => {
    const page = "# Title\n<!-- begin machine -->\nold\n<!-- end machine -->\nby hand\n";
    const once = fillIn(page, { machine: "new" });
    expect(once).toBe("# Title\n<!-- begin machine -->\n\nnew\n\n<!-- end machine -->\nby hand\n");
    expect(fillIn(once, { machine: "new" })).toBe(once);
  });

  test("without a place for a part is refused", () => {
    expect(() => fillIn("# Title", { machine: "new" })).toThrow('no place for "machine"');
  });

  test("is the same for the same results", () => {
    expect(generatedParts(results)).toEqual(generatedParts(structuredClone(results)));
    const { goals, workloads, settings } = generatedParts(results);
    expect(goals).toContain("steps/s over DBOS | at least 45 times | 20 | no |");
    expect(workloads).toContain("| DBOS Transact | 1,000 | 20 |");
    expect(settings).toContain("| DBOS Transact | pool 20 |");
    expect(goals).not.toContain("trial");
    expect(generatedParts({ ...results, size: "tiny" })["goals"]).toContain("A trial at size tiny");
    expect([...chartsOf(results).keys()]).toEqual(["ten"]);
  });
});

describe("a chart", () => {
  const bar = (value: number) => ({ label: "a & b", value, kind: "own" });

  test("has bars in proportion, and texts that are safe in XML", () => {
    const svg = barChart({ title: "t", caption: "c", bars: [bar(100), bar(50)] });
    expect(svg.match(/width="(\d+)" height="19"/g)).toEqual(['width="440" height="19"', 'width="220" height="19"']);
    expect(svg).toContain("a &amp; b");
    expect(svg).not.toContain("logarithmic");
  });

  test("is logarithmic where the shortest bar could not be seen", () => {
    expect(barChart({ title: "t", caption: "c", bars: [bar(1_000), bar(10)] })).toContain("c; logarithmic scale");
  });
});

test("tables are set for a page and for a terminal", () => {
  const table = [
    ["", "steps/s"],
    ["ours", "1,000"],
  ];
  expect(markdownTable(table)).toBe("|  | steps/s |\n| --- | ---: |\n| ours | 1,000 |");
  expect(plainTable(table)).toBe("      steps/s\nours    1,000");
});
