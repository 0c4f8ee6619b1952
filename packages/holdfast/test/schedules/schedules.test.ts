import { signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";

const NOW = new Date("2026-03-02T10:00:00Z");
const seen = (at: string): string => new Date(at).toISOString();

function reports() {
  const fired: string[] = [];
  const report = workflow("report", async (ctx, input: { to: string } | undefined) => {
    fired.push(ctx.info.scheduledAt?.toISOString() ?? "none");
    return `${ctx.info.schedule} to ${input?.to}`;
  });
  return { fired, report };
}

const go = signal<true>("go");
const job = workflow("job", async (ctx) => {
  await ctx.receive(go);
  return "done";
});

describe("a schedule", () => {
  test("starts a run at each of its times, under an id that names the time", async () => {
    const { fired, report } = reports();
    const t = await testEngine({ workflows: [report], now: NOW });
    await t.client.schedules.create({ id: "hourly", workflow: report, input: { to: "ann" }, cron: "0 * * * *" });
    await t.clock.advance("3h");
    expect(fired).toEqual([seen("2026-03-02T11:00Z"), seen("2026-03-02T12:00Z"), seen("2026-03-02T13:00Z")]);
    const run = t.client.get("hourly@2026-03-02T12:00:00.000Z");
    expect(await run.result()).toBe("hourly to ann");
    const { runs } = await t.client.schedules.runs("hourly");
    expect(runs.map(({ id }) => id)).toEqual([
      "hourly@2026-03-02T13:00:00.000Z",
      "hourly@2026-03-02T12:00:00.000Z",
      "hourly@2026-03-02T11:00:00.000Z",
    ]);
    const about = await t.client.schedules.get("hourly").describe();
    expect(about).toMatchObject({
      id: "hourly",
      spec: { cron: "0 * * * *", timezone: "UTC" },
      paused: false,
      nextAt: new Date("2026-03-02T14:00Z"),
      lastAt: new Date("2026-03-02T13:00Z"),
      openId: null,
      buffered: 0,
      input: { to: "ann" },
    });
    expect(about.decisions.map(({ at, what }) => [at.toISOString(), what])).toEqual(fired.map((at) => [at, "fired"]));
    expect(about.decisions[0]?.runId).toBe(runs[2]?.runId);
    await t.close();
  });

  test("alone does not move the virtual clock, and fires while an awaited result does", async () => {
    const { fired, report } = reports();
    const nap = workflow("nap", (ctx) => ctx.sleep("nap", "1 day"));
    const t = await testEngine({ workflows: [report, nap, job], now: NOW });
    await t.client.schedules.create({ id: "s", workflow: report, input: { to: "x" }, every: "6h" });
    const waiting = await t.client.start(job, undefined, { id: "waits" });
    await expect(waiting.result()).rejects.toMatchObject({ code: "result_timeout" });
    expect(t.clock.now()).toBe(NOW.getTime());
    await t.run(nap);
    expect(fired).toHaveLength(4);
    await t.close();
  });

  test("shows its next times, and can be previewed without existing", async () => {
    const t = await testEngine({ workflows: [job], now: NOW });
    const times = { cron: "30 2 * * *", timezone: "Europe/Berlin" };
    const handle = await t.client.schedules.create({ id: "s", workflow: job, ...times });
    const next = [new Date("2026-03-03T01:30Z"), new Date("2026-03-04T01:30Z")];
    expect(await handle.upcoming(2)).toEqual(next);
    expect(await t.client.schedules.preview(times, 2)).toEqual(next);
    await t.close();
  });

  test("whose times are over says so", async () => {
    const { fired, report } = reports();
    const t = await testEngine({ workflows: [report], now: NOW });
    const at = [new Date("2026-03-02T11:00Z"), new Date("2026-03-02T12:00Z")];
    const handle = await t.client.schedules.create({ id: "s", workflow: report, input: { to: "x" }, at });
    await t.clock.advance("1 day");
    expect(fired).toEqual(at.map((one) => one.toISOString()));
    expect((await handle.describe()).nextAt).toBeNull();
    await t.close();
  });

  test("is refused if its times, its options or its id are wrong", async () => {
    const t = await testEngine({ workflows: [job], now: NOW });
    const { schedules } = t.client;
    const create = (options: object): Promise<unknown> =>
      schedules.create({ id: "s", workflow: "job", cron: "0 * * * *", ...options });
    await expect(create({ cron: "61 * * * *" })).rejects.toMatchObject({
      code: "invalid_schedule",
      data: { field: "cron" },
    });
    await expect(create({ overlap: "sometimes" })).rejects.toMatchObject({ code: "invalid_option" });
    await expect(create({ catchUp: { max: 0 } })).rejects.toMatchObject({ code: "invalid_option" });
    await expect(create({ catchUp: { window: "59s" } })).rejects.toMatchObject({ code: "invalid_option" });
    await expect(create({ id: "x".repeat(361) })).rejects.toMatchObject({ code: "invalid_name" });
    await expect(create({ workflow: undefined })).rejects.toMatchObject({ code: "invalid_option" });
    await expect(create({ options: { attributes: { "holdfast.x": 1 } } })).rejects.toMatchObject({
      code: "invalid_name",
    });
    await create({});
    await expect(create({})).rejects.toMatchObject({ code: "schedule_already_exists", data: { id: "s" } });
    await expect(schedules.get("other").describe()).rejects.toMatchObject({ code: "schedule_not_found" });
    await expect(schedules.delete("other")).rejects.toMatchObject({ code: "schedule_not_found" });
    await t.close();
  });

  test("is listed page by page, with its status", async () => {
    const t = await testEngine({ workflows: [job], now: NOW });
    for (const id of ["a", "b", "c"]) await t.client.schedules.create({ id, workflow: job, every: "1h" });
    await t.client.schedules.pause("b", { note: "holidays", by: "ann" });
    const first = await t.client.schedules.list({ limit: 2 });
    expect(first.schedules.map(({ id, status, note, by }) => [id, status, note, by])).toEqual([
      ["a", "scheduled", null, null],
      ["b", "paused", "holidays", "ann"],
    ]);
    const rest = await t.client.schedules.list({ limit: 2, cursor: first.cursor as string });
    expect(rest).toMatchObject({ schedules: [{ id: "c" }], cursor: null });
    await t.close();
  });

  test("that never fires again says so, unlike one that is paused or that has a time to start yet", async () => {
    const slow = workflow("slow", async (ctx) => ctx.sleep("work", "1h"));
    const t = await testEngine({ workflows: [slow], now: NOW });
    const { schedules } = t.client;
    const at = [1, 2].map((minutes) => new Date(NOW.getTime() + minutes * 60_000));
    const schedule = await schedules.create({ id: "s", workflow: slow, at, overlap: "buffer-one" });
    const standing = async () => {
      const { status, paused, nextAt, buffered } = await schedule.describe();
      expect((await schedules.list()).schedules).toMatchObject([{ status }]);
      return { status, paused, nextAt, buffered };
    };
    expect(await standing()).toMatchObject({ status: "scheduled", nextAt: at[0] });
    await t.clock.advance("5m");
    expect(await standing()).toEqual({ status: "scheduled", paused: false, nextAt: null, buffered: 1 });
    await t.clock.advance("3h");
    expect(await standing()).toEqual({ status: "ended", paused: false, nextAt: null, buffered: 0 });
    await schedule.pause();
    expect(await standing()).toEqual({ status: "paused", paused: true, nextAt: null, buffered: 0 });
    await schedule.resume();
    expect(await standing()).toMatchObject({ status: "ended" });
    await schedule.update({ at: undefined, every: "1h" });
    expect(await standing()).toMatchObject({ status: "scheduled", nextAt: expect.any(Date) });
    await t.close();
  });

  test("delays its runs by jitter, always by the same for the same time", async () => {
    const { report } = reports();
    const starts: Date[][] = [];
    for (let i = 0; i < 2; i++) {
      const t = await testEngine({ workflows: [report], now: NOW, seed: i + 1 });
      await t.client.schedules.create({ id: "s", workflow: report, input: { to: "x" }, every: "1h", jitter: "10m" });
      await t.clock.advance("5h");
      await t.clock.advance("10m");
      const { runs } = await t.client.schedules.runs("s");
      starts.push(runs.map(({ startedAt }) => startedAt as Date));
      await t.close();
    }
    expect(starts[0]).toHaveLength(5);
    expect(starts[0]).toEqual(starts[1]);
    const delays = (starts[0] as Date[]).map((at) => at.getTime() % 3_600_000);
    expect(delays.every((ms) => ms <= 600_000)).toBe(true);
    expect(new Set(delays).size).toBeGreaterThan(1);
  });

  test("starts the default version of the moment, or the one that it names", async () => {
    const make = (version: string) => workflow({ name: "v", version }, async () => version);
    const t = await testEngine({ workflows: [make("1"), make("2")], now: NOW });
    await t.client.schedules.create({ id: "any", workflow: "v", every: "1h" });
    await t.client.schedules.create({ id: "pinned", workflow: "v", version: "1", every: "1h" });
    await t.client.versions.setDefault("v", "1");
    await t.clock.advance("1h");
    await t.client.versions.setDefault("v", "2");
    await t.clock.advance("1h");
    const versions = async (id: string) => (await t.client.schedules.runs(id)).runs.map(({ version }) => version);
    expect(await versions("any")).toEqual(["2", "1"]);
    expect(await versions("pinned")).toEqual(["1", "1"]);
    await t.close();
  });
});

describe("pause, trigger, update, delete", () => {
  test("time spent paused is not caught up", async () => {
    const { fired, report } = reports();
    const t = await testEngine({ workflows: [report], now: NOW });
    const s = await t.client.schedules.create({ id: "s", workflow: report, input: { to: "x" }, every: "1h" });
    await t.clock.advance("1h");
    await s.pause({ note: "maintenance", by: "ann" });
    expect(await s.describe()).toMatchObject({ paused: true, note: "maintenance", by: "ann", nextAt: null });
    await t.clock.advance("5h");
    expect(fired).toHaveLength(1);
    await s.resume();
    await t.clock.advance("1h");
    expect(fired).toEqual([seen("2026-03-02T11:00Z"), seen("2026-03-02T17:00Z")]);
    await t.close();
  });

  test("a trigger starts a run at once, also while the schedule is paused", async () => {
    const { fired, report } = reports();
    const t = await testEngine({ workflows: [report], now: NOW });
    const s = await t.client.schedules.create({
      id: "s",
      workflow: report,
      input: { to: "x" },
      every: "1h",
      paused: true,
    });
    const run = await s.trigger();
    expect(run.id).toMatch(/^s![0-9a-f-]{36}$/);
    expect(await run.result()).toBe("s to x");
    expect(fired).toEqual([NOW.toISOString()]);
    expect((await s.runs()).runs.map(({ runId }) => runId)).toEqual([run.runId]);
    expect((await s.describe()).decisions).toMatchObject([
      { what: "fired", reason: "it was triggered", runId: run.runId },
    ]);
    await t.close();
  });

  test("a triggered run is the open one, if no other is", async () => {
    const t = await testEngine({ workflows: [job], now: NOW });
    const s = await t.client.schedules.create({ id: "s", workflow: job, every: "1h" });
    const run = await s.trigger();
    await t.clock.advance("1h");
    const about = await s.describe();
    expect(about.openId).toBe(run.id);
    expect(about.decisions.at(-1)).toMatchObject({ what: "skipped", reason: `run "${run.id}" is open` });
    await t.close();
  });

  test("a schedule that is created again can be updated: it has a new next time, is active, and keeps its decisions", async () => {
    const { fired, report } = reports();
    const t = await testEngine({ workflows: [report], now: NOW });
    const { schedules } = t.client;
    const said = { id: "s", workflow: report, input: { to: "x" }, ifExists: "update" } as const;
    const s = await schedules.create({ ...said, every: "1h", overlap: "allow", note: "hourly" });
    await t.clock.advance("1h");
    await s.pause({ by: "ann" });
    await schedules.create({ ...said, every: "2h", input: { to: "y" } });
    expect(await s.describe()).toMatchObject({
      ...{ paused: false, note: null, by: null, overlap: "skip", nextAt: new Date("2026-03-02T12:00Z") },
      decisions: [{ what: "fired" }],
    });
    await t.clock.advance("1h");
    expect(fired).toEqual([seen("2026-03-02T11:00Z"), seen("2026-03-02T12:00Z")]);
    expect((await schedules.list()).schedules).toHaveLength(1);
    await expect(schedules.create({ ...said, every: "2h", ifExists: "fail" })).rejects.toMatchObject({
      code: "schedule_already_exists",
    });
    await t.close();
  });

  test("a schedule that is created again as it is does not lose the times that are due", async () => {
    const t = await testEngine({ workflows: [], now: NOW });
    const said = { id: "s", workflow: "job", every: "1h", ifExists: "update" } as const;
    const s = await t.client.schedules.create(said);
    const { nextAt } = await s.describe();
    await t.client.schedules.create(said);
    await t.client.schedules.create({ ...said, note: "another" });
    expect(await s.describe()).toMatchObject({ nextAt, note: "another", decisions: [] });
    await t.close();
  });

  test("an update changes what it names, keeps the rest and the decisions", async () => {
    const { fired, report } = reports();
    const t = await testEngine({ workflows: [report], now: NOW });
    const { schedules } = t.client;
    const s = await schedules.create({
      id: "s",
      workflow: report,
      input: { to: "x" },
      every: "1h",
      note: "n",
      overlap: "allow",
    });
    await t.clock.advance("1h");
    await s.update({ every: undefined, cron: "30 * * * *", input: { to: "bob" }, note: undefined });
    await t.clock.advance("1h");
    expect(fired).toEqual([seen("2026-03-02T11:00Z"), seen("2026-03-02T11:30Z")]);
    expect(await t.client.get("s@2026-03-02T11:30:00.000Z").result()).toBe("s to bob");
    const about = await s.describe();
    expect(about).toMatchObject({ overlap: "allow", note: null, spec: { cron: "30 * * * *" }, input: { to: "bob" } });
    expect(about.spec.every).toBeUndefined();
    expect(about.decisions).toHaveLength(2);
    await expect(s.update({ cron: undefined })).rejects.toMatchObject({ code: "invalid_schedule" });
    await t.close();
  });

  test("a deleted schedule starts nothing more, and its runs stay", async () => {
    const { fired, report } = reports();
    const t = await testEngine({ workflows: [report], now: NOW });
    const s = await t.client.schedules.create({ id: "s", workflow: report, input: { to: "x" }, every: "1h" });
    await t.clock.advance("1h");
    await s.delete();
    await t.clock.advance("3h");
    expect(fired).toHaveLength(1);
    expect((await s.runs()).runs).toHaveLength(1);
    await expect(s.describe()).rejects.toMatchObject({ code: "schedule_not_found" });
    await t.close();
  });
});

describe("health", () => {
  test("shows a schedule whose runs fail every time, and the leader", async () => {
    let broken = true;
    const shaky = workflow("shaky", async (ctx) => {
      if (broken) throw new Error("no paper");
      return ctx.info.schedule;
    });
    const t = await testEngine({ workflows: [shaky], now: NOW });
    await t.client.schedules.create({ id: "s", workflow: shaky, every: "1h" });
    await t.clock.advance("3h");
    const health = await t.client.health();
    expect(health.schedules).toEqual([{ id: "s", failures: 3, lastError: "no paper" }]);
    expect(health.status).toBe("degraded");
    expect(health.leader?.workerId).toBe(t.worker.workerId);
    broken = false;
    await t.clock.advance("1h");
    expect((await t.client.health()).schedules).toEqual([]);
    await t.close();
  });

  test("names a schedule that waits for a parked run, as describe() does", async () => {
    const t = await testEngine({ workflows: [job], now: NOW });
    const s = await t.client.schedules.create({ id: "s", workflow: job, every: "1h" });
    await t.client.schedules.create({ id: "beside", workflow: job, every: "1h", overlap: "allow" });
    await t.clock.advance("1h");
    expect(await s.describe()).toMatchObject({ openStatus: "waiting" });
    expect(await t.client.health()).toMatchObject({ status: "healthy", reasons: [] });
    const openId = "s@2026-03-02T11:00:00.000Z";
    await t.client.get(openId).pause();
    await t.client.get("beside@2026-03-02T11:00:00.000Z").pause();
    expect(await s.describe()).toMatchObject({ openId, openStatus: "parked" });
    const reasons = [`Schedule "s" waits for run "${openId}", which is parked.`];
    expect(await t.client.health()).toMatchObject({ status: "degraded", reasons, schedules: [] });
    await s.pause();
    expect(await t.client.health()).toMatchObject({ status: "healthy", reasons: [] });
    await t.close();
  });
});
