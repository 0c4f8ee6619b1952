import { type OverlapPolicy, signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";

const NOW = new Date("2026-03-02T10:00:00Z");
const id = (hour: number): string => `s@2026-03-02T${String(hour).padStart(2, "0")}:00:00.000Z`;

const go = signal<true>("go");
const job = workflow("job", async (ctx) => {
  await ctx.receive(go);
  return "done";
});

async function engine(overlap: OverlapPolicy) {
  const t = await testEngine({ workflows: [job], now: NOW });
  const s = await t.client.schedules.create({ id: "s", workflow: job, every: "1h", overlap });
  const decided = async () =>
    (await s.describe()).decisions.map(({ at, what, runId }) => `${at.getUTCHours()} ${what}${runId ? "!" : ""}`);
  return { t, s, decided };
}

describe("a time whose id somebody else's run has", () => {
  test.each(["skip", "buffer-all", "cancel-other", "terminate-other", "allow"] as const)(
    "fails with overlap %s, and that run is neither the open one nor stopped",
    async (overlap) => {
      const { t, s, decided } = await engine(overlap);
      const foreign = await t.client.start(job, undefined, { id: id(11) });
      await t.clock.advance("1h");
      const about = await s.describe();
      expect(about).toMatchObject({ openId: null, lastAt: null, buffered: 0, failures: 1 });
      expect(about.lastError).toContain(`"${id(11)}"`);
      expect(about.decisions).toMatchObject([{ what: "failed", reason: about.lastError }]);
      expect((await t.client.health()).schedules).toMatchObject([{ id: "s", failures: 1 }]);
      await t.clock.advance("1h");
      expect(await decided()).toEqual(["11 failed", "12 fired!"]);
      expect(await s.describe()).toMatchObject({ openId: id(12) });
      await t.clock.advance("1h");
      expect(await foreign.status()).toBe("waiting");
      await t.close();
    },
  );

  test("fails also if the time was buffered before that run was started", async () => {
    const { t, s, decided } = await engine("buffer-all");
    await t.clock.advance("2h");
    const foreign = await t.client.start(job, undefined, { id: id(12) });
    await t.client.get(id(11)).signal(go, true);
    await t.clock.advance("1m");
    expect(await decided()).toEqual(["11 fired!", "12 buffered", "12 failed"]);
    expect(await s.describe()).toMatchObject({ openId: null, buffered: 0 });
    expect(await foreign.status()).toBe("waiting");
    await t.close();
  });

  test.each(["cancel-other", "terminate-other"] as const)(
    "fails with overlap %s while a run of the schedule is open, and that run goes on",
    async (overlap) => {
      const { t, s, decided } = await engine(overlap);
      await t.clock.advance("1h");
      const foreign = await t.client.start(job, undefined, { id: id(12) });
      await t.clock.advance("1h");
      expect(await decided()).toEqual(["11 fired!", "12 buffered", "12 failed"]);
      expect(await s.describe()).toMatchObject({ openId: id(11), buffered: 0, failures: 1 });
      expect(await t.client.get(id(11)).status()).toBe("waiting");
      await t.clock.advance("1h");
      expect(await t.client.get(id(11)).status()).toBe(overlap === "cancel-other" ? "canceled" : "terminated");
      expect(await s.describe()).toMatchObject({ openId: id(13) });
      expect(await foreign.status()).toBe("waiting");
      await t.close();
    },
  );

  test("fails in a backfill, and the other times start", async () => {
    const { t, s, decided } = await engine("allow");
    await t.client.start(job, undefined, { id: id(2) });
    const range = { from: new Date("2026-03-02T01:00Z"), to: new Date("2026-03-02T03:00Z") };
    expect(await s.backfill(range)).toMatchObject({ times: 3, started: 2, skipped: 1 });
    expect(await decided()).toEqual(["1 fired!", "2 failed", "3 fired!"]);
    await t.close();
  });

  test("is no reason to stop a run that somebody has started under the id of one that has ended", async () => {
    const { t } = await engine("terminate-other");
    await t.clock.advance("1h");
    await t.client.get(id(11)).signal(go, true);
    await t.clock.advance("1m");
    const again = await t.client.start(job, undefined, { id: id(11), ifClosed: "start" });
    await t.clock.advance("1h");
    expect(await again.status()).toBe("waiting");
    await t.close();
  });
});
