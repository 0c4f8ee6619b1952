/**
 * Histories that an earlier build has written must replay for ever. `npm run golden -- --write` writes them anew, which is allowed
 * until the first release, and for features that no release had; docs/CONTRIBUTING.md says more.
 */
import process from "node:process";
import { type AnyWorkflow, jsonCodec } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { EVENT_TYPES, type EventType } from "../../src/model/event.ts";
import { isClosed, type Run } from "../../src/model/run.ts";
import { Fleet, openFleet } from "../lab/fleet.ts";
import type { Feature } from "./feature.ts";
import { FEATURES } from "./features/index.ts";
import { type GoldenRun, readGolden, writeGolden } from "./golden-file.ts";

/** Types that no golden history has yet. Empty before every release. */
const TO_FILL_IN: readonly EventType[] = [];

if (process.env.HOLDFAST_GOLDEN === "write") {
  test.each(FEATURES)("writes the histories of $name, the same every time", async (feature) => {
    // Stacks name the machine and the lines of today.
    Error.stackTraceLimit = 0;
    const runs = await record(feature);
    expect(await record(feature)).toEqual(runs);
    writeGolden(feature.name, runs);
  });
} else replayAll();

function replayAll(): void {
  describe.each(FEATURES)("golden histories of $name", (feature) => {
    const workflows = new Map((feature.later ?? feature.workflows).map((one) => [`${one.name} ${one.version}`, one]));
    const runs = readGolden(feature.name).map(
      (golden) => [`${golden.row.workflow}, ${golden.row.id}`, golden] as const,
    );

    test.each(runs)("replay: %s", async (_title, golden) => {
      const { row } = golden;
      const code = workflows.get(`${row.workflow} ${row.version}`) as AnyWorkflow;
      const outcome = await replay(code, await historyOf(golden));
      expect(shown(outcome)).toEqual(expected(row));
    });

    test.each(runs)("time never goes backward: %s", async (_title, golden) => {
      const times = (await historyOf(golden)).map(({ at }) => at.getTime());
      expect(times).toEqual([...times].sort((a, b) => a - b));
    });
  });

  test.each(FEATURES)("time never goes backward in histories of $name that are written today", async (feature) => {
    for (const golden of await record(feature)) {
      const times = (await historyOf(golden)).map(({ at }) => at.getTime());
      expect(times).toEqual([...times].sort((a, b) => a - b));
    }
  });

  test("every type of event is in a golden history", () => {
    const found = new Set<EventType>();
    for (const { name } of FEATURES)
      for (const golden of readGolden(name)) for (const type of typesOf(golden)) found.add(type);
    expect(EVENT_TYPES.filter((type) => !found.has(type))).toEqual(TO_FILL_IN);
  });
}

/** Has a fleet do what the feature does, and returns what it leaves in the store. */
async function record(feature: Feature): Promise<GoldenRun[]> {
  const fleet = new Fleet();
  const { workflows, later, tasks = [] } = feature;
  const worker = await fleet.worker({ name: "first", workflows: [...workflows], tasks: [...tasks] });
  await feature.happen(fleet);
  if (later) {
    await fleet.clock.until(worker.stop());
    await fleet.worker({ name: "later", workflows: [...later], tasks: [...tasks] });
    await feature.happenLater?.(fleet);
  }
  await fleet.clock.settle();
  await fleet.close();
  const { runs, events, inbox } = fleet.store.state;
  return [...runs.values()].map((row) => {
    expect(isClosed(row.status), `${row.workflow} is ${row.status}`).toBe(true);
    return { row, events: events.get(row.runId) ?? [], inbox: inbox.get(row.runId) ?? [] };
  });
}

/** As a client reads it from a store that has the run. */
async function historyOf({ row, events, inbox }: GoldenRun) {
  const fleet = openFleet();
  const { state } = fleet.store;
  state.runs.set(row.runId, { ...row });
  state.byId.set(`${row.namespace}\n${row.id}`, [row.runId]);
  state.events.set(row.runId, [...events]);
  state.inbox.set(row.runId, [...inbox]);
  return fleet.clock.until(fleet.client({ namespace: row.namespace }).get(row.id).history());
}

function typesOf({ row, events }: GoldenRun): EventType[] {
  return ["run_started", `run_${row.status}` as EventType, ...events.map(({ type }) => type)];
}

type Outcome = Awaited<ReturnType<typeof replay>>;

function shown(outcome: Outcome): unknown {
  if ("output" in outcome) return { output: jsonCodec.encode(outcome.output, "output") };
  if ("error" in outcome) return { error: (outcome.error as Error).message };
  return "open";
}

/** What the row says about the end. The code of a run that was terminated, has continued or has moved has no end of its own. */
function expected({ status, output, error }: Run): unknown {
  if (status === "completed") return { output };
  return ["terminated", "continued", "moved"].includes(status) ? "open" : { error: error?.message };
}
