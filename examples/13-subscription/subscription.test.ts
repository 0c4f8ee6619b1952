import { crashEverywhere, testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { changePlan, makeSubscription, newAccount, status, stop, used } from "./subscription.ts";

const options = { id: "subscription-ann" };

test("every unit is billed once, also those that are reported while one year ends and the next begins", async () => {
  const bills: string[] = [];
  const subscription = makeSubscription((_customer, text) => bills.push(text));
  const t = await testEngine({ workflows: [subscription] });
  let reported = 0;
  for (let month = 0; month < 25; month++) {
    await t.client.signalWithStart(subscription, newAccount("Ann"), used, month, options);
    reported += month;
    await t.clock.advance("30 days");
  }
  const ann = t.client.get(subscription, options.id);
  await ann.update(stop);
  expect(await ann.result()).toBe("Ann has left after 26 months");
  const billed = bills.map((text) => Number(/(\d+) units/.exec(text)?.[1]));
  expect(billed.reduce((sum, units) => sum + units, 0)).toBe(reported);
  expect(await t.client.count(options)).toBe(3);
  await t.close();
});

test("a change of the plan is in the status at once, and reaches the next year", async () => {
  const subscription = makeSubscription(() => {});
  const t = await testEngine({ workflows: [subscription] });
  await t.client.start(subscription, newAccount("Ann"), options);
  const ann = t.client.get(subscription, options.id);
  expect(await ann.update(changePlan, "large")).toBe("large from month 1 on");
  await expect(ann.update(changePlan, "large")).rejects.toMatchObject({ code: "update_rejected" });
  await t.clock.advance("400 days");
  expect(await ann.query(status)).toBe("large, 13 months billed, 0 units since");
  await t.close();
});

test("a subscription survives a crash anywhere, and bills every month once", async () => {
  const bills = new Map<string, string>();
  const subscription = makeSubscription((_customer, text, key) => bills.set(key, text));
  const report = await crashEverywhere(
    subscription,
    { ...newAccount("Ann"), months: 11 },
    {
      effects: { reset: () => bills.clear(), snapshot: () => bills.size },
      whenWaiting: async (client, id) => {
        await client.get(id).signal(used, 5, { id: "request-1" });
        await client.get(id).update(stop, undefined, { id: "stop" });
      },
    },
  );
  expect(report.output).toBe("Ann has left after 12 months");
  expect([...bills.values()]).toEqual(["month 12, small, 5 units: 550 cents"]);
});
