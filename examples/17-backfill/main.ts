// A daily import that begins today, and the ten days before today: a backfill.
//   npm start 17-backfill
import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";

const imported = new Map<string, number>();

const importDay = workflow("import-day", async (ctx) => {
  const day = ctx.info.scheduledAt?.toISOString().slice(0, 10) ?? "today";
  await ctx.step("import", () => imported.set(day, (imported.get(day) ?? 0) + 1));
});

const t = await testEngine({ workflows: [importDay], now: new Date("2026-11-17T12:00:00Z") });
const daily = await t.client.schedules.create({ id: "import", workflow: importDay, cron: "0 4 * * *" });
const range = { from: new Date("2026-11-08"), to: new Date("2026-11-18") };

const done = await daily.backfill({
  ...range,
  onProgress: ({ times, at }) => console.log(`Gone through ${times} days, up to ${at?.toISOString()}.`),
});
console.log(`Started: ${done.started}, waiting for the one before: ${done.buffered}, skipped: ${done.skipped}.`);
await t.clock.advance("1m");
console.log(`Imported, in this order: ${[...imported.keys()].map((day) => day.slice(5)).join(" ")}.`);

// Nobody knows whether the first call got through? Call again: a time that has a run gets no second one.
const again = await daily.backfill(range);
console.log(`Again. Started: ${again.started}, waiting: ${again.buffered}, skipped: ${again.skipped}.`);

await t.clock.advance("2 days");
console.log(`Two days later: ${imported.size} days, each ${Math.max(...imported.values())} time.`);
await t.close();
