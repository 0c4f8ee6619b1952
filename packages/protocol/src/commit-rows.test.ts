import fc from "fast-check";
import type { HistoryEvent, RunCommit } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { commitRows, commitsOf } from "./commit-rows.ts";
import { packBody, unpackBody } from "./store-bodies.ts";

const text = fc.oneof(fc.constantFrom("default", "work#1", "__proto__", "\ud800", ""), fc.string({ unit: "binary" }));
const runId = fc.oneof(fc.uuid(), fc.uuid(), text);
const transition: fc.Arbitrary<RunCommit["transition"]> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ type: "append" as const }) },
  fc.constant({ type: "hold" as const, status: "running" as const }),
);
const event = fc.record(
  {
    type: fc.constantFrom<HistoryEvent["type"]>("step_completed", "step_failed", "timer_created"),
    op: fc.option(text),
    at: fc.maxSafeInteger(),
    payload: fc.uint8Array({ maxLength: 50 }),
    meta: fc.record({ attempt: fc.nat(), ms: fc.nat(), messageId: text }, { requiredKeys: [] }),
  },
  { requiredKeys: ["type", "op", "at"] },
);
const commit: fc.Arbitrary<RunCommit> = fc
  .record({
    base: fc.record({ namespace: text, runId, workerId: text, epoch: fc.nat(), commit: fc.nat(), consumed: fc.nat() }),
    before: fc.nat(),
    events: fc.array(event, { maxLength: 4 }),
    // Some leave a gap, which is a fault of whoever sends it, and arrives as it was sent.
    gap: fc.constantFrom(0, 0, 0, 1),
    attributes: fc.constantFrom(null, null, null, { color: "red" }),
    clearDeadline: fc.constantFrom(false, false, false, true),
    lists: fc.constantFrom({}, { tasks: [], settled: [], dropTasks: false, results: [], closes: [] }, { unlocks: [3] }),
    transition,
  })
  .map(({ base, before, events, gap, lists, ...rest }) => ({
    ...base,
    ...rest,
    ...lists,
    events: events.map((one, i) => ({ seq: before + gap + i + 1, ...one })),
    eventCount: before + events.length,
  }));

const travel = (params: unknown): unknown => commitsOf(unpackBody(packBody(params)));

/** Lists that are empty, and what is not done, may be left out. */
function withoutNothing({ tasks, settled, dropTasks, results, closes, ...kept }: RunCommit): unknown {
  const lists = Object.entries({ tasks, settled, results, closes }).filter(([, list]) => list && list.length > 0);
  return { ...kept, ...Object.fromEntries(lists), ...(dropTasks ? { dropTasks } : {}) };
}

describe("commits as columns", () => {
  test("are read as they were written, in their order", () => {
    fc.assert(
      fc.property(fc.array(commit, { maxLength: 20 }), (commits) => {
        const read = travel(commitRows({ commits })) as { commits: RunCommit[] };
        expect(read.commits.map(withoutNothing)).toEqual(commits.map(withoutNothing));
      }),
      { numRuns: 300 },
    );
  });

  test("have payloads of their own: one does not keep the others alive", () => {
    const payload = new Uint8Array([1, 2, 3]);
    const events: HistoryEvent[] = [{ seq: 1, type: "step_completed", op: "a", at: 5, payload }];
    const base = { namespace: "default", workerId: "w", epoch: 1, commit: 1, consumed: 0, attributes: null };
    const one = { ...base, events, eventCount: 1, clearDeadline: false, transition: { type: "append" } } as const;
    const commits = ["0", "1"].map((digit) => ({ ...one, runId: digit.repeat(36) }));
    const read = travel(commitRows({ commits })) as { commits: RunCommit[] };
    expect(read.commits.map(({ events: [first] }) => first?.payload?.buffer.byteLength)).toEqual([3, 3]);
  });

  test("that make no sense are refused, and nothing takes long", () => {
    const valid = { count: 1, names: ["a"], ids: "x".repeat(36), metas: [], others: [], places: [] };
    const payloads = new Uint8Array(0);
    const numbers = [0, 0, 1, 1, 0, 0, 0];
    expect(commitsOf({ rows: { ...valid, payloads, numbers } })).toMatchObject({ commits: [{ events: [] }] });
    for (const wrong of [
      null,
      7,
      {},
      { ...valid, payloads, numbers: [] },
      { ...valid, payloads, numbers: [0, 0, 1, 1, 0, 1e15, 1e15] },
      { ...valid, payloads, numbers: [0, 0, 1, 1, 0, 0, -1] },
      { ...valid, payloads, numbers: [0, 0, 1, 1, 0, 0, Number.NaN] },
      { ...valid, payloads, numbers: [...numbers, 0] },
      { ...valid, payloads: [1], numbers },
      { ...valid, payloads: new Uint8Array(1), numbers },
      { ...valid, payloads, numbers, count: 1e12 },
      { ...valid, payloads, numbers, count: 2, ids: "x".repeat(72) },
      { ...valid, payloads, numbers, ids: "" },
      { ...valid, payloads, numbers, metas: [{}] },
      { ...valid, payloads, numbers, others: [{}], places: [5] },
    ])
      expect(() => commitsOf({ rows: wrong })).toThrow("are not what the server expects");
  });
});
