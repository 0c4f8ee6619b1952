/** What limits of queues cost where there are none: not a statement. */
import type { StartRun } from "holdfast/adapter";
import { SeededSource, VirtualClock } from "holdfast/testing";
import { expect, test, vi } from "vitest";
import { openParts } from "../src/open-store.ts";
import { silent, temporaryFolder } from "./sqlite-under-test.ts";

const ERROR = { name: "Error", message: "no", kind: "Unknown" } as const;
const METHODS = ["get", "all", "columns", "allColumns", "execute", "run", "insert", "insertIfNew"] as const;

let runs = 0;

function newStart(): StartRun {
  const runId = `01890000-0000-7000-8000-${String(++runs).padStart(12, "0")}`;
  const run = {
    ...{
      namespace: "default",
      runId,
      id: `run-${runs}`,
      workflow: "order",
      version: "1",
      queue: "default",
      priority: 0,
    },
    ...{ seed: "seed", input: new Uint8Array(), attributes: {} },
  };
  return { run, ifRunning: "return", ifClosed: "return" } as unknown as StartRun;
}

test("starts look at the backlogs of queues without a statement of their own, and so does a queue without limits", async () => {
  const folder = temporaryFolder();
  const options = { clock: new VirtualClock(), random: new SeededSource(1), log: silent };
  const { store, connection } = await openParts(`file:${folder.file("costs.db")}`, options);
  let statements = 0;
  for (const method of METHODS) {
    const original = connection[method].bind(connection) as (...args: readonly unknown[]) => unknown;
    const counted = (...args: readonly unknown[]): unknown => {
      statements += 1;
      return original(...args);
    };
    vi.spyOn(connection, method).mockImplementation(counted as never);
  }
  const count = async (starts: number, bounded: boolean): Promise<number> => {
    statements = 0;
    const params = { starts: Array.from({ length: starts }, newStart), holdBy: null, replaceError: ERROR };
    const { outcomes } = await store.runs.start({ ...params, ...(bounded ? { bounded } : {}) });
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(["created"]));
    return statements;
  };
  // What only the first call of a store does is done.
  await count(1, true);
  const [one, three] = [await count(1, false), await count(3, false)];
  expect(one).toBeGreaterThan(0);
  expect([await count(1, true), await count(3, true)]).toEqual([one, three]);
  // The counter sees what limits add.
  const first = { revision: null, next: "01890000-0000-7000-8000-00000000ffff" };
  await store.queues.setIfRevision({ namespace: "default", queue: "other", limits: { backlog: 1 }, ...first });
  expect(await count(1, true)).toBeGreaterThan(one);
  await store.close();
  folder.remove();
});
