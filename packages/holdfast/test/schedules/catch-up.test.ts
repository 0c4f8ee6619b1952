import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";

const NOW = new Date("2026-03-02T10:00:00Z");

async function engine() {
  const fired: string[] = [];
  const report = workflow("report", async (ctx) => {
    fired.push((ctx.info.scheduledAt as Date).toISOString().slice(11, 16));
  });
  const t = await testEngine({ workflows: [report], now: NOW });
  return { fired, report, t };
}

/** Nobody leads for that long. */
async function away(t: Awaited<ReturnType<typeof engine>>["t"], how: "3h" | "5h" | "200h"): Promise<void> {
  await t.clock.until(t.worker.stop());
  await t.clock.advance(how);
  await t.worker.start();
  await t.clock.advance("1s");
}

describe("times that nobody could fire", () => {
  test("are made up for", async () => {
    const { t, fired, report } = await engine();
    await t.client.schedules.create({ id: "s", workflow: report, every: "1h", overlap: "allow" });
    await away(t, "3h");
    expect(fired.sort()).toEqual(["11:00", "12:00", "13:00"]);
    await t.close();
  });

  test("are made up for up to the limit, the latest first to stay; the others are noted as missed", async () => {
    const { t, fired, report } = await engine();
    const catchUp = { max: 2 };
    const s = await t.client.schedules.create({ id: "s", workflow: report, every: "1h", overlap: "allow", catchUp });
    await away(t, "5h");
    expect(fired.sort()).toEqual(["14:00", "15:00"]);
    expect((await s.describe()).decisions[0]).toEqual({
      at: new Date("2026-03-02T11:00Z"),
      what: "missed",
      reason: "3 times up to 2026-03-02T13:00:00.000Z: only the latest 2 are made up for",
    });
    await t.close();
  });

  test("are made up for a hundred of them, unless the schedule says otherwise", async () => {
    const { t, fired, report } = await engine();
    await t.client.schedules.create({ id: "s", workflow: report, every: "1h", overlap: "allow" });
    await away(t, "200h");
    expect(fired).toHaveLength(100);
    await t.close();
  });

  test("are made up for within the window alone", async () => {
    const { t, fired, report } = await engine();
    const catchUp = { window: "90m" } as const;
    const s = await t.client.schedules.create({ id: "s", workflow: report, every: "1h", overlap: "allow", catchUp });
    await away(t, "5h");
    expect(fired.sort()).toEqual(["14:00", "15:00"]);
    expect((await s.describe()).decisions[0]).toMatchObject({
      what: "missed",
      reason: "3 times up to 2026-03-02T13:00:00.000Z: the catch-up window is 1h 30m",
    });
    await t.close();
  });

  test("are skipped if the policy says so: only the first of them starts", async () => {
    const { t, fired, report } = await engine();
    const s = await t.client.schedules.create({ id: "s", workflow: report, every: "1h" });
    await away(t, "3h");
    expect(fired).toEqual(["11:00"]);
    expect((await s.describe()).decisions.map(({ what }) => what)).toEqual(["fired", "skipped", "skipped"]);
    await t.close();
  });
});

describe("a backfill", () => {
  const range = { from: new Date("2026-03-01T00:00Z"), to: new Date("2026-03-01T03:00Z") };

  test("starts a run for each time of the range, one after the other", async () => {
    const { t, fired, report } = await engine();
    const s = await t.client.schedules.create({ id: "s", workflow: report, every: "1h" });
    const told: number[] = [];
    const done = await s.backfill({ ...range, onProgress: ({ times }) => void told.push(times) });
    expect(done).toEqual({ times: 4, started: 1, buffered: 3, skipped: 0, at: range.to });
    expect(told).toEqual([4]);
    await t.clock.advance("1m");
    expect(fired).toEqual(["00:00", "01:00", "02:00", "03:00"]);
    expect(await t.client.get("s@2026-03-01T02:00:00.000Z").status()).toBe("completed");
    await t.close();
  });

  test("starts nothing a second time; what was purged nobody knows of", async () => {
    const { t, fired, report } = await engine();
    const s = await t.client.schedules.create({ id: "s", workflow: report, every: "1h", overlap: "allow" });
    expect(await s.backfill(range)).toMatchObject({ started: 4, skipped: 0 });
    await t.clock.advance("1m");
    expect(await s.backfill(range)).toMatchObject({ started: 0, skipped: 4 });
    expect(fired).toHaveLength(4);
    await t.client.purge({ olderThan: "1s" });
    expect(await s.backfill(range)).toMatchObject({ started: 4 });
    await t.close();
  });

  test("goes through a long range in batches, and waits for room among the buffered times", async () => {
    const { t, fired, report } = await engine();
    const s = await t.client.schedules.create({ id: "s", workflow: report, every: "1h" });
    const told: number[] = [];
    const from = new Date("2025-12-01T00:30Z");
    const done = await s.backfill({ from, to: NOW, onProgress: ({ times }) => void told.push(times) });
    const hours = Math.floor((NOW.getTime() - from.getTime()) / 3_600_000) + 1;
    expect(done.times).toBe(hours);
    expect(told.slice(0, 2)).toEqual([50, 100]);
    await t.clock.advance("30m");
    expect(fired).toHaveLength(hours);
    await t.close();
  });

  test("leaves times that have not come yet to the schedule", async () => {
    const { t, fired, report } = await engine();
    const s = await t.client.schedules.create({ id: "s", workflow: report, every: "1h" });
    const to = new Date("2026-03-02T13:00Z");
    expect(await s.backfill({ from: new Date("2026-03-02T09:00Z"), to })).toMatchObject({ times: 2 });
    await t.clock.advance("1m");
    expect(fired).toEqual(["09:00", "10:00"]);
    await t.clock.advance("1h");
    expect(fired).toEqual(["09:00", "10:00", "11:00"]);
    await t.close();
  });

  test("of a range that ends before it begins is refused", async () => {
    const { t, report } = await engine();
    const s = await t.client.schedules.create({ id: "s", workflow: report, every: "1h" });
    await expect(s.backfill({ from: range.to, to: range.from })).rejects.toMatchObject({ code: "invalid_option" });
    await t.close();
  });
});
