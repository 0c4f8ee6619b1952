import { type OverlapPolicy, type ScheduleDescription, signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";

const NOW = new Date("2026-03-02T10:00:00Z");
const id = (hour: number): string => `s@2026-03-02T${hour}:00:00.000Z`;

const go = signal<true>("go");
const job = workflow("job", async (ctx) => {
  await ctx.receive(go);
  return "done";
});

const decided = ({ decisions }: ScheduleDescription): string[] =>
  decisions.map(({ at, what }) => `${at.getUTCHours()} ${what}`);

async function engine(overlap: OverlapPolicy) {
  const t = await testEngine({ workflows: [job], now: NOW });
  const s = await t.client.schedules.create({ id: "s", workflow: job, every: "1h", overlap });
  const open = async () => {
    const { runs } = await t.client.list({ status: ["pending", "running", "waiting", "sleeping"] });
    return runs.map((run) => run.id).sort();
  };
  return { t, s, open };
}

describe("a time that comes while a run is open", () => {
  test("is skipped", async () => {
    const { t, s, open } = await engine("skip");
    await t.clock.advance("3h");
    expect(await open()).toEqual([id(11)]);
    expect(decided(await s.describe())).toEqual(["11 fired", "12 skipped", "13 skipped"]);
    expect((await s.describe()).decisions[1]?.reason).toBe(`run "${id(11)}" is open`);
    await t.client.get(id(11)).signal(go, true);
    await t.clock.advance("1h");
    expect(await open()).toEqual([id(14)]);
    await t.close();
  });

  test("is skipped if the run is parked, and the reason says so", async () => {
    const { t, s, open } = await engine("skip");
    await t.clock.advance("1h");
    await t.client.get(id(11)).pause();
    await t.clock.advance("1h");
    expect((await s.describe()).decisions[1]).toMatchObject({ what: "skipped", reason: `run "${id(11)}" is parked` });
    await t.client.get(id(11)).resume();
    await t.clock.advance("1h");
    expect((await s.describe()).decisions[2]).toMatchObject({ what: "skipped", reason: `run "${id(11)}" is open` });
    expect(await open()).toEqual([id(11)]);
    await t.close();
  });

  test("is started side by side", async () => {
    const { t, s, open } = await engine("allow");
    await t.clock.advance("3h");
    expect(await open()).toEqual([id(11), id(12), id(13)]);
    expect(decided(await s.describe())).toEqual(["11 fired", "12 fired", "13 fired"]);
    await t.close();
  });

  test("waits for its end, if none waits already", async () => {
    const { t, s, open } = await engine("buffer-one");
    await t.clock.advance("3h");
    expect((await s.describe()).buffered).toBe(1);
    expect(decided(await s.describe())).toEqual(["11 fired", "12 buffered", "13 skipped"]);
    await t.client.get(id(11)).signal(go, true);
    await t.clock.advance("1m");
    expect(await open()).toEqual([id(12)]);
    expect((await s.describe()).buffered).toBe(0);
    await t.close();
  });

  test("waits with all others, and they start one after the other", async () => {
    const { t, s, open } = await engine("buffer-all");
    await t.clock.advance("4h");
    expect((await s.describe()).buffered).toBe(3);
    for (const hour of [11, 12, 13]) {
      await t.client.get(id(hour)).signal(go, true);
      await t.clock.advance("1m");
      expect(await open()).toEqual([id(hour + 1)]);
    }
    await t.close();
  });

  test("cancels the run, and starts when that has cleaned up", async () => {
    const slow = workflow("job", async (ctx) => {
      try {
        await ctx.receive(go);
      } finally {
        await ctx.uncancelable((inner) => inner.sleep("clean up", "10m"));
      }
    });
    const t = await testEngine({ workflows: [slow], now: NOW });
    const s = await t.client.schedules.create({ id: "s", workflow: slow, every: "1h", overlap: "cancel-other" });
    await t.clock.advance("2h");
    expect(await s.describe()).toMatchObject({ openId: id(11), buffered: 1 });
    await t.clock.advance("10m");
    expect(await t.client.get(id(11)).status()).toBe("canceled");
    expect(await s.describe()).toMatchObject({ openId: id(12), buffered: 0 });
    await t.close();
  });

  test("terminates the run and starts at once", async () => {
    const { t, s, open } = await engine("terminate-other");
    await t.clock.advance("3h");
    expect(await open()).toEqual([id(13)]);
    expect(await t.client.get(id(11)).status()).toBe("terminated");
    expect(decided(await s.describe())).toEqual(["11 fired", "12 buffered", "12 fired", "13 buffered", "13 fired"]);
    await t.close();
  });

  test("finds the run open that has continued as new", async () => {
    const chain = workflow("chain", async (ctx) => {
      await ctx.sleep("a while", "90m");
      ctx.continueAsNew(undefined);
    });
    const t = await testEngine({ workflows: [chain], now: NOW });
    const s = await t.client.schedules.create({ id: "s", workflow: chain, every: "1h" });
    await t.clock.advance("6h");
    expect(decided(await s.describe())).toEqual([
      "11 fired",
      "12 skipped",
      "13 skipped",
      "14 skipped",
      "15 skipped",
      "16 skipped",
    ]);
    const { runs } = await s.runs();
    expect(new Set(runs.map((run) => run.id))).toEqual(new Set([id(11)]));
    expect(runs.length).toBeGreaterThan(2);
    await t.close();
  });
});
