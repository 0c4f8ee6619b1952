import { crashEverywhere, testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { type Depot, type Item, makeOrder, tooHeavy } from "./order.ts";

const lamp = { item: "lamp", kilograms: 2 };
const piano = { item: "piano", kilograms: 400 };
const second = { item: "second lamp", kilograms: 2 };

class FakeDepot implements Depot {
  largestVan = 100;
  readonly log: string[] = [];

  pick(item: string): void {
    this.log.push(`pick ${item}`);
  }

  deliver(it: Item): void {
    if (it.kilograms > this.largestVan) throw tooHeavy(it);
    this.log.push(`deliver ${it.item}`);
  }

  takeBack(item: string): void {
    this.log.push(`take back ${item}`);
  }
}

test("an order that failed on a shipment is retried, and only that shipment goes on, where it failed", async () => {
  const depot = new FakeDepot();
  const { order, shipment } = makeOrder(depot);
  const t = await testEngine({ workflows: [order, shipment] });
  const run = await t.client.start(order, { id: "o-1", items: [lamp, piano] });
  await expect(run.result()).rejects.toMatchObject({
    cause: { cause: { message: "no van can carry the piano, 400 kg" } },
  });
  expect(depot.log.sort()).toEqual(["deliver lamp", "pick lamp", "pick piano"]);
  depot.log.splice(0);
  depot.largestVan = 500;
  await run.retry();
  expect(await run.result()).toEqual(["lamp delivered", "piano delivered"]);
  expect(depot.log).toEqual(["deliver piano"]);
  await t.close();
});

test("all or nothing takes back what was delivered", async () => {
  const depot = new FakeDepot();
  const { furnish, shipment } = makeOrder(depot);
  const t = await testEngine({ workflows: [furnish, shipment] });
  await expect(t.run(furnish, { id: "o-2", items: [lamp, piano] })).rejects.toMatchObject({ code: "run_failed" });
  expect(depot.log).toEqual(["pick lamp", "deliver lamp", "pick piano", "take back lamp"]);
  await t.close();
});

test("an order survives a crash anywhere", async () => {
  const { order, shipment } = makeOrder(new FakeDepot());
  const report = await crashEverywhere(order, { id: "o-3", items: [lamp, second] }, { workflows: [shipment] });
  expect(report.output).toEqual(["lamp delivered", "second lamp delivered"]);
});
