// A report every night, New York time, also in the nights when the clocks are changed.
//   npm start 15-nightly-report
// The weeks pass in a moment, on the clock of the test engine. In production it is `connect("postgres://…")`, a worker, and
// `hf.schedules.create` with the same options.
import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";

const timezone = "America/New_York";
const newYork = new Intl.DateTimeFormat("en-GB", { timeZone: timezone, dateStyle: "medium", timeStyle: "short" });

const report = workflow("report", async (ctx, input: { to: string }) => {
  // The time that the run was started for: the same in every attempt, however late the run is.
  const night = ctx.info.scheduledAt ?? new Date(ctx.now());
  const rows = await ctx.step("count", () => 40 + night.getUTCDate());
  await ctx.step("mail", () => console.log(`${newYork.format(night)}: ${rows} rows, to ${input.to}`));
});

/** Three nights, the second of which is the one when the clocks are changed. */
async function threeNights(cron: string, now: string): Promise<void> {
  const t = await testEngine({ workflows: [report], now: new Date(now) });
  const nightly = await t.client.schedules.create({
    id: "nightly",
    workflow: report,
    input: { to: "ann@example.com" },
    cron,
    timezone,
  });
  await t.clock.advance("3 days");
  const { runs } = await nightly.runs();
  for (const { id, status } of [...runs].reverse()) console.log(`  ${id} ${status}`);
  await t.close();
}

console.log("In March there is no half past two: the report comes when the clock jumps to three.");
await threeNights("30 2 * * *", "2026-03-07T06:00:00Z");
console.log("In November half past one comes twice: the report comes the first time.");
await threeNights("30 1 * * *", "2026-10-31T04:00:00Z");
