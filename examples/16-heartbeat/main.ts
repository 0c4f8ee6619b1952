// Looks every ten seconds whether a server is alive, and never has two looks at the same time.
//   npm start 16-heartbeat
import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";

let slow = false;

const look = workflow("look", async (ctx) => {
  if (slow) await ctx.sleep("the server takes its time", "25s");
  return ctx.step("look", () => "alive");
});

const t = await testEngine({ workflows: [look], now: new Date("2026-11-17T12:00:00Z") });
const heartbeat = await t.client.schedules.create({ id: "heartbeat", workflow: look, every: "10s", overlap: "skip" });

await t.clock.advance("20s");
slow = true;
await t.clock.advance("10s");
slow = false;
await t.clock.advance("40s");

const { decisions, nextAt } = await heartbeat.describe();
const time = (at: Date) => at.toISOString().slice(11, 19);
for (const { at, what, reason } of decisions) console.log(time(at), what, reason ? `(${reason})` : "");
console.log("Next:", nextAt && time(nextAt));

await heartbeat.pause({ note: "the server moves", by: "Bob" });
await t.clock.advance("1h");
const { note, by } = await heartbeat.describe();
console.log(`Paused by ${by}: ${note}.`);
const now = await heartbeat.trigger();
console.log("Bob looks by himself:", await now.result());
await heartbeat.resume({ by: "Bob" });
const [first] = await heartbeat.upcoming(1);
console.log("Next:", first && time(first), "- what was due in the hour between is not caught up.");
await t.close();
