import { task, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";
import { stuck, stuckTask, watched } from "./watched.ts";

const STALLED = { detect: "stalled_run", after: "1m" } as const;

describe.each(["report", "alert"] as const)("%s", (action) => {
  test("tells what is found once, does nothing about it, and is quiet while all is well", async () => {
    const { fleet, client, counted, told } = await watched([{ ...STALLED, action }]);
    const { definition } = stuck();
    await fleet.worker({ workflows: [definition] });
    const run = await client.start(definition);
    const lines = () => fleet.lines.filter(({ message }) => message.includes("without recording anything"));
    await fleet.clock.advance("50s");
    expect([lines(), told(), counted]).toEqual([[], [], []]);
    await fleet.clock.advance("3m");
    expect(lines()).toHaveLength(1);
    expect(told()).toEqual(action === "alert" ? ["firing stalled_run"] : []);
    expect(counted).toEqual([`watchdog_findings stalled_run ${action}`, `watchdog_actions stalled_run ${action} done`]);
    expect((await run.history()).map(({ type }) => type)).toEqual(["run_started", "step_started"]);
  });
});

describe("restart", () => {
  test("takes a run from a live but stuck worker; another one continues it, with the event in its history", async () => {
    const { fleet, client, counted } = await watched([{ ...STALLED, action: "restart" }]);
    const [first, second, filler] = [stuck(), stuck(), stuck("filler")];
    second.gate.open();
    const stuckWorker = await fleet.worker({
      workflows: [first.definition, filler.definition],
      name: "one",
      concurrency: 1,
    });
    const run = await client.start(first.definition, undefined, { id: "r" });
    await fleet.clock.settle();
    // The only slot of the first worker has somebody else waiting for it, so that the run does not come back to it.
    await client.start(filler.definition);
    await fleet.worker({ workflows: [second.definition], name: "two" });
    await fleet.clock.advance("2m");
    await fleet.result(run);
    expect([first.executions.length, second.executions.length]).toEqual([1, 1]);
    expect(first.executions[0]?.aborted).toBe(true);
    const events = await run.history();
    expect(events.map(({ type }) => type)).toEqual([
      "run_started",
      "step_started",
      "run_restarted",
      "step_completed",
      "run_completed",
    ]);
    expect(events[2]).toMatchObject({
      data: { by: "watchdog", reason: expect.stringMatching(/^stalled_run: Worker one /) },
    });
    expect(counted.slice(0, 2)).toEqual([
      "watchdog_findings stalled_run restart",
      "watchdog_actions stalled_run restart done",
    ]);
    expect(stuckWorker.holds(run.runId)).toBe(false);
    first.gate.open();
    await fleet.clock.settle();
    expect((await run.history()).length).toBe(5);
  });

  test("of a run that does not get better is given up after three times", async () => {
    const { fleet, client, counted } = await watched([{ ...STALLED, action: "restart" }]);
    const { definition, executions } = stuck();
    await fleet.worker({ workflows: [definition] });
    const run = await client.start(definition);
    await fleet.clock.advance("20m");
    expect(executions.length).toBe(4);
    const events = await run.history();
    expect(events.filter(({ type }) => type === "run_restarted").length).toBe(3);
    expect(counted.filter((one) => one.startsWith("watchdog_actions"))).toEqual([
      ...Array.from({ length: 3 }, () => "watchdog_actions stalled_run restart done"),
      "watchdog_actions stalled_run restart given_up",
    ]);
  });

  test("is not for a run that has recorded something since it was found", async () => {
    const { fleet, client, counted } = await watched([{ ...STALLED, action: "restart" }]);
    const { definition } = stuck();
    await fleet.worker({ workflows: [definition] });
    const run = await client.start(definition);
    await fleet.clock.settle();
    // Between the look and the action.
    const { restartIfHeld } = fleet.store.runs;
    fleet.store.runs.restartIfHeld = (params) => {
      const row = fleet.store.state.runs.get(run.runId);
      if (row) row.commit += 1;
      return restartIfHeld(params);
    };
    await fleet.clock.advance("80s");
    expect((await run.history()).map(({ type }) => type)).toEqual(["run_started", "step_started"]);
    expect(counted).toContain("watchdog_actions stalled_run restart moved");
  });
});

describe("cancel", () => {
  test("cancels a stalled run, once, with who and why in its history", async () => {
    const { fleet, client } = await watched([{ ...STALLED, action: "cancel" }]);
    const { definition, executions } = stuck();
    await fleet.worker({ workflows: [definition] });
    const run = await client.start(definition);
    await fleet.clock.advance("3m");
    expect(executions[0]?.aborted).toBe(true);
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    const requests = (await run.history()).filter(({ type }) => type === "cancel_requested");
    expect(requests).toMatchObject([{ data: { by: "watchdog", reason: expect.stringMatching(/^stalled_run: /) } }]);
  });

  test("is not for a run that was taken on since it was found", async () => {
    const { fleet, client, counted } = await watched([{ ...STALLED, action: "cancel" }]);
    const { definition } = stuck();
    await fleet.worker({ workflows: [definition] });
    const run = await client.start(definition);
    await fleet.clock.settle();
    // Between the look and the action.
    const { deliver } = fleet.store.inbox;
    fleet.store.inbox.deliver = (params) => {
      const row = fleet.store.state.runs.get(run.runId);
      if (row && params.messages.some(({ kind }) => kind === "cancel")) row.epoch += 1;
      return deliver(params);
    };
    await fleet.clock.advance("80s");
    expect((await run.history()).map(({ type }) => type)).not.toContain("cancel_requested");
    expect(counted).toContain("watchdog_actions stalled_run cancel moved");
  });

  test("comes after what others are told about the same run, in whichever order the rules stand", async () => {
    const { fleet, client, told } = await watched([
      { ...STALLED, action: "cancel" },
      { ...STALLED, action: "alert" },
    ]);
    const { definition } = stuck();
    await fleet.worker({ workflows: [definition] });
    const run = await client.start(definition);
    await fleet.clock.advance("3m");
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect(told()).toEqual(["firing stalled_run", "resolved stalled_run"]);
  });

  test("ends one run of a circle, the youngest, so that the others go on", async () => {
    const { fleet, client } = await watched([{ detect: "circle", after: "1m", action: "cancel" }]);
    const crossing = workflow("crossing", (ctx, [a, b]: readonly [string, string]) =>
      ctx.withLock(a, async () => {
        await ctx.sleep("nap", "1s");
        return ctx.withLock(b, async () => "both");
      }),
    );
    await fleet.worker({ workflows: [crossing] });
    const older = await client.start(crossing, ["a", "b"], { id: "older" });
    await fleet.clock.advance({ milliseconds: 5 });
    const younger = await client.start(crossing, ["b", "a"], { id: "younger" });
    await fleet.clock.advance("3m");
    expect(await fleet.result(older)).toBe("both");
    await expect(fleet.result(younger)).rejects.toMatchObject({ code: "run_canceled" });
  });
});

describe("timeout_task", () => {
  const rule = { detect: "stalled_task", after: "1m", action: "timeout_task" } as const;

  test("ends the attempt as its timeout would: another one follows, and the history says who ended it", async () => {
    const { fleet, client, counted } = await watched([rule]);
    const { send, mails, attempts } = stuckTask();
    await fleet.worker({ workflows: [mails], tasks: [send] });
    const run = await client.start(mails);
    await fleet.clock.advance("3m");
    expect(await fleet.result(run)).toBe("sent");
    expect(attempts).toEqual([1, 2]);
    const notes = (await run.history()).filter(({ type }) => type === "run_noted");
    expect(notes).toMatchObject([
      { data: { by: "watchdog", reason: expect.stringMatching(/^ends attempt 1 of task "send": stalled_task: /) } },
    ]);
    expect(counted).toContain("watchdog_actions stalled_task timeout_task done");
  });

  test("of the last attempt fails the task, with the reason", async () => {
    const { fleet, client } = await watched([rule]);
    const send = task({ name: "send", retry: { attempts: 1 } }, () => new Promise<void>(() => {}));
    const mails = workflow("mails", (ctx) => ctx.task(send, undefined));
    await fleet.worker({ workflows: [mails], tasks: [send] });
    const run = await client.start(mails);
    await fleet.clock.advance("3m");
    await expect(fleet.result(run)).rejects.toMatchObject({
      cause: {
        code: "task_timeout",
        message: expect.stringMatching(/^The watchdog has ended attempt 1 of task "send"/),
      },
    });
    expect((await run.history()).map(({ type }) => type)).toContain("run_noted");
  });

  test("is not for an attempt that has ended since it was found", async () => {
    const { fleet, client, counted } = await watched([rule]);
    const { send, mails } = stuckTask();
    await fleet.worker({ workflows: [mails], tasks: [send] });
    const run = await client.start(mails);
    await fleet.clock.settle();
    const { finish } = fleet.store.tasks;
    let orders = 0;
    fleet.store.tasks.finish = (params) => {
      const [one] = params.finishes;
      if (one?.by.type !== "order" || orders++ > 0) return finish(params);
      const task = fleet.store.state.tasks.get(`${one.runId}/${one.seq}`);
      if (task) task.epoch += 1;
      return finish(params);
    };
    await fleet.clock.advance("80s");
    expect(counted).toContain("watchdog_actions stalled_task timeout_task moved");
    expect(fleet.store.state.tasks.get(`${run.runId}/1`)?.attempt).toBe(1);
  });
});

describe("a rule on trial", () => {
  test("says what it would do, and does nothing", async () => {
    const rules = (["restart", "cancel"] as const).map((action) => ({ ...STALLED, action, dryRun: true }));
    const { fleet, client, counted } = await watched(rules);
    const { definition, executions } = stuck();
    await fleet.worker({ workflows: [definition] });
    const run = await client.start(definition);
    await fleet.clock.advance("10m");
    expect((await run.history()).map(({ type }) => type)).toEqual(["run_started", "step_started"]);
    expect(executions.length).toBe(1);
    expect(fleet.store.calls["runs.restartIfHeld"]).toBeUndefined();
    expect(fleet.store.calls["inbox.deliver"]).toBeUndefined();
    const said = fleet.lines.filter(({ message }) => message.includes("(dry run)")).map(({ message }) => message);
    expect(said.map((line) => line.replace(/:.*/, ""))).toEqual([
      "the watchdog would restart the run (dry run)",
      "the watchdog would cancel the run (dry run)",
    ]);
    expect(counted).toContain("watchdog_actions stalled_run restart dry_run");
  });
});

describe("two watchdogs at once", () => {
  test("restart a run once for what they both have found", async () => {
    const fleet = openFleet();
    const { client } = await watched([{ ...STALLED, action: "restart" }], {}, fleet);
    const other = await watched([{ ...STALLED, action: "restart" }], {}, fleet);
    // Each of them believes that it is the only one with rules.
    for (const row of fleet.store.state.workers.values()) Object.assign(row, { about: { options: {} } });
    const { list } = fleet.store.workers;
    let asked = 0;
    fleet.store.workers.list = async (params) => {
      const rows = await list(params);
      const ids = rows.filter(({ name }) => name === "watcher").map(({ workerId }) => workerId);
      const mine = ids[asked++ % ids.length];
      return rows.map((row) => ({ ...row, about: { options: { watchdogRules: row.workerId === mine ? 1 : 0 } } }));
    };
    const { definition, executions } = stuck();
    await fleet.worker({ workflows: [definition] });
    const run = await client.start(definition);
    await fleet.clock.advance("85s");
    expect(other.watcher.workerId).not.toBe("");
    expect(executions.length).toBe(2);
    expect((await run.history()).filter(({ type }) => type === "run_restarted").length).toBe(1);
  });
});
