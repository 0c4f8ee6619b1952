/** The runs of `dev --demo`: a few hundred, in every state. Once: the next time, they are there. */
import type { Client, RunHandle, RunStatus } from "holdfast";
import { wait } from "../../io/process-io.ts";
import { report } from "./demo-code.ts";

const CUSTOMERS = ["ann", "bo", "chen", "dara", "emeka", "fatima", "goran", "hana"];
const FAULTS = { declined: 12, network: 8, warehouse: 9, refund: 3 };
const SETTLE_MS = 6_000;
const LOOK_MS = 50;
const BY = { by: "demo", reason: "to have one of these" };

/** What people do to runs goes on when this has resolved: nobody waits for it. */
export async function startDemo(hf: Client): Promise<void> {
  await startWorkers(hf);
  if ((await hf.count({ workflow: "order", atMost: 1 })) > 0) return;
  await hf.queues.set("invoices", { concurrency: 2, perKey: { concurrency: 1 }, backlog: 500 });
  await hf.queues.set("video", { rate: { limit: 10, per: "1m" } });
  await startOrders(hf);
  await startOthers(hf);
  await schedule(hf);
  // A demo that is stopped at once leaves this undone.
  act(hf).catch(() => {});
}

/** Beside the worker that has everything: one for reports, and one that has left. */
async function startWorkers(hf: Client): Promise<void> {
  await hf.worker({ workflows: [report], name: "reports-eu", labels: { zone: "eu-west" } }).start();
  const leaving = hf.worker({ workflows: [report], name: "reports-us", labels: { zone: "us-east" } });
  await leaving.start();
  await leaving.drain();
}

async function startOrders(hf: Client): Promise<void> {
  const orders = Array.from({ length: 180 }, (_, index) => ({
    workflow: "order",
    input: { customer: CUSTOMERS[index % CUSTOMERS.length], cents: 990 + index },
    options: { id: `order-${1000 + index}`, version: "2", priority: index % 20 === 0 ? 5 : 0 },
  }));
  await hf.startMany(orders);
  for (const [fault, count] of Object.entries(FAULTS))
    for (let n = 1; n <= count; n++)
      await hf.start(
        "order",
        { customer: CUSTOMERS[n % CUSTOMERS.length], cents: 5_000 + n, fault },
        { id: `order-${fault}-${n}`, version: "2" },
      );
  for (let n = 0; n < 4; n++)
    await hf.start(
      "order",
      { customer: "ann", cents: 100 + n, slowMs: 3_600_000 },
      { id: `order-slow-${n + 1}`, version: "2" },
    );
  for (let n = 0; n < 15; n++)
    await hf.start("order", { customer: "bo", cents: n }, { id: `order-old-${n + 1}`, version: "1" });
}

async function startOthers(hf: Client): Promise<void> {
  const many = (workflow: string, count: number, input: (n: number) => unknown, options: object = {}) =>
    hf.startMany(
      Array.from({ length: count }, (_, n) => ({
        workflow,
        input: input(n + 1),
        options: { id: `${workflow}-${n + 1}`, ...options },
      })),
    );
  await Promise.all([
    many("refund", 25, (n) => ({ order: `order-${1000 + n}`, cents: 990 + n })),
    many("onboarding", 30, (n) => ({ user: CUSTOMERS[n % 8] })),
    many("film", 3, (n) => ({ title: `film ${n}` })),
    many("parcel-check", 4, (n) => ({ parcel: `p-${n}` })),
    many("letter", 5, (n) => ({ to: CUSTOMERS[n % 8] })),
    many("meter", 3, () => ({ readings: 0 })),
    many("quote", 6, (n) => ({ kind: n % 2 === 0 ? "car" : "house" })),
    many("bundle", 4, (n) => ({
      orders: [1, 2, 3].map((part) => ({ customer: CUSTOMERS[n % 8], cents: 100 * part })),
    })),
    ...CUSTOMERS.map((tenant, index) =>
      hf.startMany(
        Array.from({ length: 3 }, (_, n) => ({
          workflow: "invoice",
          input: { tenant, n },
          options: { id: `invoice-${tenant}-${n + 1}`, queue: "invoices", key: tenant, priority: index % 3 },
        })),
      ),
    ),
  ]);
  await hf.start("quote", { kind: "boat" }, { id: "quote-boat" });
  await hf.start("onboarding", { user: "late" }, { id: "onboarding-late", timeout: "2s" });
  await hf.start("report-of-tomorrow", {}, { id: "nobody-runs-this" });
  await hf.start("refund", { order: "order-1", cents: 1 }, { id: "refund-tomorrow", delay: "1 day" });
}

async function schedule(hf: Client): Promise<void> {
  const { schedules } = hf;
  const workflow = "nightly-report";
  await schedules.create({ id: "report-often", workflow, every: "10s", ifExists: "update" });
  await schedules.create({
    id: "report-nightly",
    workflow,
    cron: "0 3 * * *",
    timezone: "Europe/Berlin",
    ifExists: "update",
  });
  await schedules.create({
    id: "report-weekly",
    workflow,
    cron: "0 9 * * 1",
    timezone: "America/New_York",
    ifExists: "update",
  });
  await schedules.create({
    id: "report-paused",
    workflow,
    cron: "*/15 * * * *",
    paused: true,
    note: "until the audit is over",
    ifExists: "update",
  });
}

/** What people do to runs. What has not come to that point yet is left as it is. */
async function act(hf: Client): Promise<void> {
  const until = async (id: string, ...wanted: RunStatus[]): Promise<RunHandle | undefined> => {
    const handle = hf.get(id);
    for (let ms = 0; ms < SETTLE_MS; ms += LOOK_MS) {
      if (wanted.includes(await handle.status())) return handle;
      await wait(LOOK_MS);
    }
    return undefined;
  };
  await until("order-1000", "completed");
  await hf.versions.setDefault("order", "2");
  await (await until("refund-25", "waiting"))?.cancel(BY);
  await (await until("refund-24", "waiting"))?.cancel(BY);
  await (await until("refund-23", "waiting"))?.terminate(BY);
  await (await until("onboarding-30", "sleeping"))?.pause({ by: "dara", reason: "the customer asked us to wait" });
  await (await until("quote-1", "completed"))?.fork({
    before: "offer",
    input: { kind: "car" },
    id: "quote-1-again",
    ...BY,
  });
  await (await until("quote-2", "completed"))?.fork({
    before: "offer",
    edit: { offer: { result: { price: 1 } } },
    id: "quote-2-cheap",
    ...BY,
  });
}
