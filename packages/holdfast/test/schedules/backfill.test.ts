import { type BackfillProgress, type OverlapPolicy, type ScheduleHandle, signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";

const NOW = new Date("2026-03-02T10:00:00Z");
const hour = (n: number): Date => new Date(Date.UTC(2026, 2, 2, n));
const id = (n: number): string => `s@${hour(n).toISOString()}`;

const go = signal<true>("go");
const job = workflow("job", async (ctx) => {
  await ctx.receive(go);
  return "done";
});

async function engine(overlap: OverlapPolicy) {
  const t = await testEngine({ workflows: [job], now: NOW });
  const s = await t.client.schedules.create({ id: "s", workflow: job, every: "1h", overlap });
  return { t, s };
}

async function decided(s: ScheduleHandle): Promise<string[]> {
  return (await s.describe()).decisions.map(({ at, what }) => `${at.getUTCHours()} ${what}`);
}

describe("a backfill", () => {
  test.each([
    ["cancel-other", "canceled"],
    ["terminate-other", "terminated"],
  ] as const)("with overlap %s stops the open run, whatever the schedule's own policy is", async (overlap, status) => {
    const { t, s } = await engine("skip");
    const first = await s.trigger();
    const done = await s.backfill({ from: hour(1), to: hour(3), overlap });
    expect(done).toMatchObject({ times: 3, started: 0, buffered: 1, skipped: 2 });
    await t.clock.advance("10ms");
    expect(await first.status()).toBe(status);
    expect(await s.describe()).toMatchObject({ openId: id(3), buffered: 0 });
    await t.clock.advance("1h");
    expect(await t.client.get(id(3)).status()).toBe("waiting");
    await t.close();
  });

  test("runs one after the other, also for a schedule that would stop them or run them side by side", async () => {
    for (const own of ["terminate-other", "allow"] as const) {
      const { t, s } = await engine(own);
      await s.backfill({ from: hour(1), to: hour(2), overlap: "buffer-all" });
      await t.clock.advance("10m");
      expect(await t.client.get(id(1)).status()).toBe("waiting");
      expect(await s.describe()).toMatchObject({ openId: id(1), buffered: 1 });
      await t.client.get(id(1)).signal(go, true);
      await t.clock.advance("1m");
      expect(await s.describe()).toMatchObject({ openId: id(2), buffered: 0 });
      await t.close();
    }
  });

  test("beside another one over the same times counts and notes each time once", async () => {
    const { t, s } = await engine("allow");
    const range = { from: hour(1), to: hour(4) };
    const [a, b] = await Promise.all([s.backfill(range), s.backfill(range)]);
    expect(a.started + b.started).toBe(4);
    expect(a.skipped + b.skipped).toBe(4);
    const { decisions } = await s.describe();
    const fired = decisions.filter(({ what }) => what === "fired");
    expect(fired.map(({ at }) => at.getUTCHours()).sort()).toEqual([1, 2, 3, 4]);
    const skipped = decisions.filter(({ what }) => what === "skipped");
    expect(skipped.map(({ reason }) => reason)).toEqual(Array(4).fill("a run of this time exists"));
    await t.close();
  });

  test("of a time that the schedule fires itself, or has buffered, does not fire it twice", async () => {
    const { t, s } = await engine("buffer-all");
    await t.clock.advance("2h");
    expect(await s.backfill({ from: hour(11), to: hour(12) })).toMatchObject({ started: 0, buffered: 0, skipped: 2 });
    expect(await decided(s)).toEqual(["11 fired", "12 buffered", "11 skipped", "12 skipped"]);
    expect((await s.describe()).buffered).toBe(1);
    await t.close();
  });

  test("starts nothing before its time: what has not come is left to the schedule", async () => {
    const { t, s } = await engine("allow");
    expect(await s.backfill({ from: hour(9), to: hour(20) })).toMatchObject({ times: 2, started: 2, at: hour(10) });
    expect(await s.backfill({ from: hour(12), to: hour(20) })).toMatchObject({ times: 0, at: null });
    await t.clock.advance("1h");
    expect(await decided(s)).toEqual(["9 fired", "10 fired", "11 fired"]);
    await t.close();
  });

  test("of years that the calendar does not cover is refused", async () => {
    const { t, s } = await engine("allow");
    const refused = { code: "invalid_option", data: { option: "from" } };
    await expect(s.backfill({ from: new Date("1800-01-01"), to: NOW })).rejects.toMatchObject(refused);
    await t.close();
  });

  test("starts the buffered runs as soon as the one before has ended", async () => {
    const { t, s } = await engine("skip");
    await s.backfill({ from: hour(1), to: hour(3) });
    for (const n of [1, 2]) {
      await t.client.get(id(n)).signal(go, true);
      await t.clock.advance("10ms");
      expect(await s.describe()).toMatchObject({ openId: id(n + 1), buffered: 2 - n });
    }
    await t.close();
  });

  test("of a paused schedule is refused when no more times can wait, and can be repeated", async () => {
    const { t, s } = await engine("skip");
    await s.pause();
    const range = { from: new Date(NOW.getTime() - 1_100 * 3_600_000), to: NOW };
    await expect(s.backfill(range)).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining("paused"),
    });
    expect((await s.describe()).buffered).toBe(1_000);
    await s.resume();
    const told: BackfillProgress[] = [];
    const rest = s.backfill({ ...range, onProgress: (progress) => void told.push(progress) });
    const closed = expect(rest).rejects.toMatchObject({ code: "client_closed" });
    const waited = expect.poll(() => told.filter(({ times }) => times === 1_001).length, { interval: 1 });
    await waited.toBeGreaterThan(1);
    const { openId } = await s.describe();
    await t.client.get(openId as string).signal(go, true);
    await expect.poll(() => told.at(-1)?.times, { interval: 1 }).toBe(1_002);
    await t.close();
    await closed;
  });
});
