// Two and a half years of a subscription, on the clock of the test engine: they pass in a moment.
//   npm start 13-subscription
// In production it is `connect("postgres://…")` and a worker, and nothing else changes.
import { testEngine } from "holdfast/testing";
import { changePlan, makeSubscription, newAccount, status, stop, used } from "./subscription.ts";

const bills: string[] = [];
const subscription = makeSubscription((_customer, text) => bills.push(text));
const t = await testEngine({ workflows: [subscription] });
const id = "subscription-ann";

/** What every web server does, without knowing whether there is a subscription: it starts with what is used first. */
const report = (units: number, signalId?: string) =>
  t.client.signalWithStart(subscription, newAccount("Ann"), used, units, { id, ...(signalId && { signalId }) });

const first = await Promise.all([report(1), report(2), report(3)]);
console.log(`Three servers report at once and start ${new Set(first.map(({ runId }) => runId)).size} run.`);
await report(4, "request-4");
await report(4, "request-4"); // not sure that it got through: with an id it counts once
await t.clock.advance("1 day");

const ann = t.client.get(subscription, id);
console.log("Status:", await ann.query(status));
await t.clock.advance("60 days");
console.log("Status:", await ann.query(status));
console.log("Ann changes her plan:", await ann.update(changePlan, "large"));
await ann.update(changePlan, "large").catch((error) => console.log("And again:", error.cause.message));

for (let month = 3; month <= 30; month++) {
  await report(month);
  await t.clock.advance("30 days");
}
console.log("Status:", await ann.query(status));
console.log("Ann stops:", await ann.update(stop));
console.log("Result:", await first[0]?.result());

console.log(`${bills.length} bills, by ${await t.client.count({ id })} runs:`);
for (const index of [0, 1, 2, 3, 12, 30]) console.log(`  ${bills[index]}`);

const again = await report(1);
console.log(`Ann comes back: ${again.created ? "a new subscription" : "the old one"}.`);
console.log("Status:", await ann.query(status));
await t.close();
