// `holdfast workflow …` on both stores that keep something, and through a server.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, KINDS, StoreUnderTest } from "./command-under-test.ts";
import { allowed } from "./sample-code.ts";

describe.each(KINDS)("on %s", (kind) => {
  let store: StoreUnderTest;
  beforeAll(async () => {
    allowed.clear();
    store = await StoreUnderTest.open(kind);
  });
  afterAll(() => store.close());

  const startOrder = async (id: string): Promise<void> => {
    const { code } = await store.json("workflow", "start", "order", "--id", id, "--input", '{"cents":990}');
    expect(code).toBe(0);
    await eventually(() => store.hf.get(id).status()).toBe("waiting");
  };

  test("a run is started, and says where it is", async () => {
    const { code, records } = await store.json("workflow", "start", "double", "--id", "d-1", "--input", '{"n":21}');
    expect(code).toBe(0);
    expect(records).toEqual([
      {
        id: "d-1",
        runId: expect.any(String),
        workflow: "double",
        status: expect.stringMatching(/pending|running|completed/),
      },
    ]);
    const result = await store.json("workflow", "result", "d-1");
    expect(result.records).toEqual([
      { id: "d-1", runId: expect.any(String), workflow: "double", status: "completed", result: 42 },
    ]);
  });

  test("start --wait prints the result alone, and reads its input from standard input", async () => {
    const argv = ["workflow", "start", "double", "--input", "-", "--wait"];
    expect(await store.run(argv, { stdin: '{"n":4}' })).toMatchObject({ code: 0, out: "8\n", err: "" });
  });

  test("a run that fails is exit code 1, with the error of the run", async () => {
    const { code, records, err } = await store.json("workflow", "start", "failing", "--id", "f-1", "--wait");
    expect(code).toBe(1);
    expect(err).toBe("");
    const error = { code: "run_failed", message: expect.stringContaining("it is broken") };
    expect(records).toMatchObject([{ id: "f-1", workflow: "failing", status: "failed", error }]);
    const people = await store.holdfast("workflow", "result", "f-1");
    expect(people).toMatchObject({ code: 1, out: "" });
    expect(people.err).toContain("it is broken");
  });

  test("a result that does not come in time is exit code 8", async () => {
    await startOrder("slow");
    const { code, error, records } = await store.json("workflow", "result", "slow", "--timeout", "20ms");
    expect(code).toBe(8);
    expect(error.code).toBe("result_timeout");
    expect(records).toMatchObject([{ id: "slow", status: "waiting" }]);
  });

  test("runs are listed and counted by filters", async () => {
    await store.json(
      "workflow",
      "start",
      "order",
      "--id",
      "attr",
      "--input",
      '{"cents":1}',
      "--attribute",
      "region=eu",
      "--attribute",
      "n=5",
    );
    const found = await store.json(
      "workflow",
      "list",
      "--workflow",
      "order",
      "--attribute",
      "region=eu",
      "--attribute",
      "n=5",
    );
    expect(found.records.map(({ id }) => id)).toEqual(["attr"]);
    expect(found.records[0]).toMatchObject({
      workflow: "order",
      namespace: "default",
      createdAt: expect.stringMatching(/Z$/),
    });
    expect((await store.json("workflow", "count", "--attribute", "region=eu")).records).toEqual([{ count: 1 }]);
    expect((await store.holdfast("workflow", "count", "--attribute", "region=none")).out).toBe("0\n");
    const table = await store.holdfast("workflow", "list", "--workflow", "order");
    expect(table.out.split("\n")[0]).toMatch(/^ID +WORKFLOW +STATUS +STARTED/);
    expect(table.out).toContain("attr");
    expect((await store.json("workflow", "list", "--limit", "1")).records).toHaveLength(1);
  });

  test("a run is described, with its history, its ops and what it waits for", async () => {
    await startOrder("look");
    const [described] = (await store.json("workflow", "describe", "look")).records;
    expect(described).toMatchObject({ id: "look", status: "waiting", input: { cents: 990 } });
    const events = (await store.json("workflow", "history", "look")).records;
    expect(events.map(({ seq, type }) => [seq, type])).toEqual([
      [0, "run_started"],
      [1, "step_completed"],
    ]);
    const ops = (await store.json("workflow", "steps", "look")).records;
    expect(ops.map(({ op, status }) => [op, status])).toEqual([
      ["charge", "completed"],
      ["receive:approve", "waiting"],
    ]);
    const [why] = (await store.json("workflow", "why", "look")).records;
    expect(why).toMatchObject({ id: "look", status: "waiting", causes: [{ kind: "signal", op: "receive:approve" }] });
    const people = await store.holdfast("workflow", "describe", "look");
    expect(people.out).toMatch(/input +\{"cents":990\}/);
    expect(people.out).toContain("receive:approve");
    expect((await store.holdfast("workflow", "why", "look")).out).toContain('It waits for signal "approve"');
    expect((await store.holdfast("workflow", "history", "look")).out).toContain("step_completed");
    expect((await store.holdfast("workflow", "steps", "look")).out).toMatch(/charge +step +completed/);
  });

  test("signals, queries and updates reach a run, and watch follows it to its end", async () => {
    await startOrder("talk");
    expect((await store.json("workflow", "query", "talk", "progress")).records).toEqual([
      { id: "talk", query: "progress", result: "charged" },
    ]);
    expect((await store.holdfast("workflow", "update", "talk", "add", "--input", "10")).out).toBe("1000\n");
    const watching = store.json("workflow", "watch", "talk");
    expect((await store.json("workflow", "signal", "talk", "approve", "--input", '{"by":"ann"}')).records).toEqual([
      { id: "talk", signal: "approve" },
    ]);
    const watched = await watching;
    expect(watched.code).toBe(0);
    expect(watched.records.at(0)).toMatchObject({ seq: 0, type: "run_started", runId: expect.any(String) });
    expect(watched.records.at(-1)).toMatchObject({ type: "run_completed" });
    expect((await store.holdfast("workflow", "result", "talk")).out).toBe('{"payment":"payment of 990","by":"ann"}\n');
    expect((await store.json("workflow", "query", "talk", "no-such")).code).toBe(3);
    expect((await store.json("workflow", "signal", "talk", "approve")).code).toBe(6);
  });

  test("a run is paused, resumed, canceled and terminated, with a reason in its history", async () => {
    await startOrder("act");
    expect((await store.json("workflow", "pause", "act", "--reason", "lunch", "--by", "ann")).records).toEqual([
      { id: "act", action: "pause", status: "parked" },
    ]);
    const events = (await store.json("workflow", "history", "act")).records;
    expect(events.at(-1)).toMatchObject({ data: { by: "ann", reason: "lunch" } });
    expect((await store.json("workflow", "resume", "act")).code).toBe(0);
    expect((await store.json("workflow", "cancel", "act")).code).toBe(0);
    await eventually(() => store.hf.get("act").status()).toBe("canceled");
    await startOrder("end");
    expect((await store.json("workflow", "terminate", "end")).records).toEqual([
      { id: "end", action: "terminate", status: "terminated" },
    ]);
    expect((await store.json("workflow", "watch", "end")).code).toBe(1);
    expect((await store.json("workflow", "pause", "end")).code).toBe(6);
  });

  test("a run that has ended otherwise is neither canceled nor terminated, and the exit code says so", async () => {
    await store.json("workflow", "start", "double", "--id", "over", "--input", '{"n":1}', "--wait");
    for (const verb of ["cancel", "terminate"]) {
      const { code, error, out } = await store.json("workflow", verb, "over");
      expect([verb, code, error.code, out]).toEqual([verb, 6, "run_closed", ""]);
      expect(error.message).toContain(`There is nothing to ${verb}.`);
    }
    // What is asked for twice is done once.
    expect((await store.json("workflow", "cancel", "act")).records).toMatchObject([{ status: "canceled" }]);
    expect((await store.json("workflow", "terminate", "end")).records).toMatchObject([{ status: "terminated" }]);
  });

  test("a run begins at a time ahead of now", async () => {
    await store.json("workflow", "start", "double", "--id", "later", "--input", '{"n":1}', "--at", "2h");
    const [run] = (await store.json("workflow", "describe", "later")).records;
    expect(run).toMatchObject({ status: "pending" });
    // tidy-allow: the store's clock says when the run is due
    expect(Date.parse(String(run?.["availableAt"])) - Date.now()).toBeGreaterThan(3_600_000);
    await store.json("workflow", "terminate", "later");
  });

  test("a failed run is continued at what failed", async () => {
    expect((await store.json("workflow", "start", "failing", "--id", "again", "--wait")).code).toBe(1);
    allowed.add("again");
    expect((await store.json("workflow", "retry", "again")).code).toBe(0);
    expect((await store.holdfast("workflow", "result", "again")).out).toBe('"at last"\n');
  });

  test("a run is forked before an op, with another result for that op", async () => {
    await startOrder("origin");
    const { records } = await store.json(
      "workflow",
      "fork",
      "origin",
      "--before",
      "charge",
      "--new-id",
      "copy",
      "--edit",
      'charge="free"',
    );
    expect(records).toMatchObject([{ id: "copy", workflow: "order", forkedFrom: "origin" }]);
    await store.json("workflow", "signal", "copy", "approve", "--input", '{"by":"bob"}');
    expect((await store.holdfast("workflow", "result", "copy")).out).toBe('{"payment":"free","by":"bob"}\n');
  });

  describe("many runs at once", () => {
    const filter = ["--workflow", "order", "--attribute", "many=true", "--status", "waiting"];

    test("without --yes and without a terminal nothing is changed", async () => {
      for (const id of ["m-1", "m-2", "m-3"])
        await store.json(
          "workflow",
          "start",
          "order",
          "--id",
          id,
          "--input",
          '{"cents":1}',
          "--attribute",
          "many=true",
        );
      await eventually(() => store.hf.count({ attributes: { many: true }, status: "waiting" })).toBe(3);
      const { code, error, out } = await store.json("workflow", "cancel", ...filter);
      expect(code).toBe(2);
      expect(out).toBe("");
      expect(error.message).toContain("3 runs");
      expect(await store.hf.count({ attributes: { many: true }, status: "waiting" })).toBe(3);
    });

    test("a dry run counts them", async () => {
      expect((await store.json("workflow", "terminate", ...filter, "--dry-run")).records).toEqual([
        { action: "terminate", matched: 3, dryRun: true },
      ]);
      expect((await store.holdfast("workflow", "terminate", ...filter, "--dry-run")).out).toContain(
        "3 runs would be terminated",
      );
    });

    test("no filter at all is refused", async () => {
      expect((await store.json("workflow", "cancel", "--yes")).code).toBe(2);
      expect((await store.json("workflow", "cancel", "m-1", ...filter, "--yes")).code).toBe(2);
    });

    test("with --yes a signal reaches all of them", async () => {
      const { code, records } = await store.json(
        "workflow",
        "signal",
        "approve",
        ...filter,
        "--input",
        '{"by":"all"}',
        "--yes",
      );
      expect(code).toBe(0);
      expect(records).toMatchObject([{ matched: 3, done: 3, skipped: [] }]);
      await eventually(() => store.hf.count({ attributes: { many: true }, status: "completed" })).toBe(3);
      const skipped = await store.json("workflow", "cancel", "--attribute", "many=true", "--yes");
      expect([skipped.code, skipped.records]).toMatchObject([0, [{ matched: 0, done: 0, skippedCount: 0 }]]);
    });

    test("runs that have ended are not counted, and a status that leaves nothing to do is refused", async () => {
      const ended = ["--attribute", "many=true"];
      const dry = async (...argv: string[]) => (await store.json("workflow", ...argv, ...ended, "--dry-run")).records;
      for (const verb of ["cancel", "terminate", "pause", "resume", "retry"])
        expect([verb, await dry(verb)]).toEqual([verb, [{ action: verb, matched: 0, dryRun: true }]]);
      const { code, error } = await store.json("workflow", "cancel", ...ended, "--status", "completed", "--yes");
      expect([code, error.message]).toEqual([2, expect.stringContaining("leaves nothing to do")]);
      expect((await store.json("workflow", "cancel", ...ended, "--status", "wating", "--yes")).code).toBe(2);
    });
  });

  test("what is not there is exit code 3, and says so as JSON", async () => {
    for (const verb of ["describe", "history", "steps", "why", "watch", "result", "cancel", "pause"]) {
      const { code, error, out } = await store.json("workflow", verb, "nobody");
      expect([verb, code, error.code, out]).toEqual([verb, 3, "run_not_found", ""]);
    }
  });
});
