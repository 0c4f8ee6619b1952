import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { hookedStore } from "holdfast/adapter";
import { afterAll, describe, expect, test } from "vitest";
import { Dice } from "../src/differential/dice.ts";
import { randomOperations, type Subject } from "../src/differential/operations.ts";
import { type Parting, tryOperations } from "../src/differential/trial.ts";
import { findParting, report } from "../src/differential.ts";
import { memoryUnderTest, type StoreUnderTest } from "../src/index.ts";
import { runCase } from "../src/store-conformance.ts";
import type { Suite } from "../src/suite.ts";
import { SUITES } from "../src/suites/index.ts";
import { SABOTAGES } from "./sabotages/index.ts";
import { type Sabotage, Saboteur } from "./sabotages/saboteur.ts";

async function brokenMemory(breaks: Sabotage["breaks"] = () => ({})): Promise<StoreUnderTest> {
  const { store, ...rest } = await memoryUnderTest(Saboteur);
  return { ...rest, store: hookedStore(store, breaks(store as Saboteur)) };
}

const CONVERSATIONS = [
  "locks",
  "ends of runs with locks",
  "children",
  "lineage",
  "debts",
  "closing",
  "watches",
  "ends of others",
  "permissions",
  "start messages",
  "replies",
  "asks",
  "what others do to held runs",
];

const LIMITS = ["places in a queue with limits", "lines before a queue with limits", "places of tasks"];

const SCHEDULES = ["changes of schedules", "due schedules", "the leader"];

/** Which calls show what that suite is about. */
function subjectOf(noun: string): Subject {
  if (CONVERSATIONS.includes(noun)) return "conversations";
  if (SCHEDULES.includes(noun)) return "schedules";
  if (LIMITS.includes(noun)) return "limits";
  return noun.startsWith("task ") ? "tasks" : "runs";
}

describe("the conformance suite notices a store that", () => {
  test.for(SABOTAGES)("$it ($noun)", async ({ noun, breaks }) => {
    const suite = SUITES.find((one) => one.noun === noun) as Suite;
    let noticed: string | undefined;
    for (const [title, run] of Object.entries(suite.cases)) {
      await runCase(() => brokenMemory(breaks), run).catch(() => {
        noticed = title;
      });
      if (noticed !== undefined) break;
    }
    expect(noticed).toBeDefined();
  });

  test("every suite has somebody who tries to get past it", () => {
    const attacked = new Set(SABOTAGES.map(({ noun }) => noun));
    expect(SUITES.map(({ noun }) => noun).filter((noun) => !attacked.has(noun))).toEqual([]);
  });
});

describe("the differential test notices a store that", () => {
  /**
   * It does not look at text, sizes, hints, copies, packed copies, calls that overlap, how values are encoded, what is kept of workers,
   * runs that leave and arrive, or what applications do. A store that gives no hint has the same contents, and its answers are the same: no number of seeds finds that.
   */
  const blindTo = [
    "texts",
    "payloads",
    "stored values",
    "hints",
    "concurrency",
    "appends in flight",
    "reading",
    "segments",
    "retention",
    "departures",
    "arrivals",
    "transactions",
    "task hints",
    "task races",
    "task texts",
    "conversation hints",
    "conversation races",
    "races for locks",
    "the lives of workers",
    "hints about the leader",
    "races for places",
    "starts that wait",
  ];
  /** Where the search for each begins, so that it is short: see the mutations of the simulator. HOLDFAST_WRITE_SEEDS renews them. */
  const hintsFile = path.join(import.meta.dirname, "sabotages", "first-seeds.json");
  const hints: Record<string, number> = JSON.parse(readFileSync(hintsFile, "utf8"));
  const visible = SABOTAGES.filter(({ noun, rare }) => !rare && !blindTo.includes(noun));

  afterAll(() => {
    const inOrder = visible.flatMap(({ it }) => (hints[it] === undefined ? [] : [[it, hints[it]]]));
    if (process.env["HOLDFAST_WRITE_SEEDS"])
      writeFileSync(hintsFile, `${JSON.stringify(Object.fromEntries(inOrder), null, 2)}\n`);
  });

  test.for(visible)("$it", { timeout: 120_000 }, async ({ it, noun, breaks }) => {
    const about = subjectOf(noun);
    const open = () => brokenMemory(breaks);
    let parting: Parting | undefined;
    for (let i = 0, seed = hints[it] ?? 1; i < 150 && !parting; i++, seed++) {
      parting = await tryOperations(open, randomOperations(new Dice(seed), 150, about), about);
      if (parting) hints[it] = seed;
    }
    expect(parting).toMatchObject({ oracleFault: false });
  });
});

describe("the differential test", () => {
  test.for(["suspends a run whose holder is behind", "forgets message ids when a run continues"])(
    "shrinks what it finds: a store that %s",
    async (it) => {
      const open = () => brokenMemory(SABOTAGES.find((sabotage) => sabotage.it === it)?.breaks);
      let parting: Parting | undefined;
      for (let seed = 1; seed <= 60 && !parting; seed++) parting = await findParting(open, seed, 150, "runs");
      expect(parting).toMatchObject({ oracleFault: false, failed: false });
      expect(parting?.calls.length).toBeLessThan(10);
    },
  );

  test("prints what was done and what differed, in words that can be followed", async () => {
    const sabotage = SABOTAGES.find(({ it }) => it === "terminates without taking the epoch on");
    let printed: string | undefined;
    for (let seed = 1; seed <= 60 && printed === undefined; seed++) {
      const parting = await findParting(() => brokenMemory(sabotage?.breaks), seed, 300, "runs");
      // A run can also come from a fork, which takes a call more.
      printed = parting?.calls.length === 2 ? report("a broken store", seed, parting) : undefined;
    }
    expect(printed).toMatch(/^a broken store differs from the memory store \(seed \d+, shrunk to 2 calls\):$/m);
    expect(printed).toMatch(
      /^ {2}1\. t\+\d+ runs\.start\(\{ starts: \[\{ run: \{ namespace: "\w+", runId: run#\d+, id: /m,
    );
    expect(printed).toMatch(/^ {2}2\. t\+\d+ runs\.terminate\(.*error: error"terminated" \}\)$/m);
    expect(printed).toMatch(/→ the contents\.runs\.0\.epoch: memory says 1, this store 0$/);
  });
});
