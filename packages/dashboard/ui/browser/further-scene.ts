/** A store with something of everything that the further pages show, and dashboards on it for three roles. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Client,
  connect,
  NonRetryableError,
  RetryableError,
  signal,
  silentLogger,
  task,
  workflow,
} from "holdfast";
import { vi } from "vitest";
import { z } from "zod";
import { type Dashboard, dashboard } from "../../src/index.ts";
import { toNode } from "../../src/node.ts";

export const HOSTILE = `<img src=x onerror="globalThis.__hacked=1">\u202etxt.exe`;
const WAIT_MS = 20_000;

const go = signal<string>("go");
const approve = task<{ invoice: string }, string>({ name: "approve", external: true });
const render = task({ name: "render", queue: "video", requires: ["gpu"] }, async () => "never");
const convert = task<{ file: string }, string>({ name: "convert", heartbeat: "1h" }, async (_input, t) => {
  await t.heartbeat({ row: 70, of: 100, note: HOSTILE });
  return await new Promise<string>((resolve) => t.signal.addEventListener("abort", () => resolve("stopped")));
});
const charge = task<{ cents: number }, string>({ name: "charge", retry: "none" }, async () => {
  throw new Error(`card declined ${HOSTILE}`);
});

const orderInput = z.object({
  id: z.string().describe("The number of the order"),
  cents: z.number().int().min(1),
  express: z.boolean().optional(),
  region: z.enum(["eu", "us"]).optional(),
});
const flow = async (ctx: Parameters<Parameters<typeof workflow>[1]>[0], input: { id: string; cents: number }) => {
  await ctx.step("validate", () => input.cents);
  await ctx.step(
    "charge",
    (s) => {
      if (input.cents % 3 === 0 && s.attempt < 3) throw new RetryableError("429 from the bank");
      if (input.cents % 7 === 0) throw new Error("card declined");
      return { payment: `p-${input.id}` };
    },
    { retry: { attempts: 3, fixed: "5ms" } },
  );
  if (input.cents > 90) await ctx.step("gift", () => "wrapped");
  await ctx.step("label", () => `label of ${input.id}`);
  return input.id;
};
const order = workflow({ name: "order", version: "1", input: orderInput }, flow as never);
const order2 = workflow({ name: "order", version: "2", input: orderInput }, flow as never);
const report = workflow("report", async (ctx, input: { to: string }) =>
  ctx.step("mail", () => `mailed to ${input.to}`),
);
const nightly = workflow("settle", async (ctx) => {
  await ctx.step(
    "close",
    () => {
      throw new Error("ledger is locked");
    },
    { retry: "none" },
  );
});
const buggy = workflow("invoice", async (ctx) => {
  await ctx.step("draft", () => 1);
  return (undefined as unknown as { total: number }).total;
});
const saga = workflow("booking", async (ctx) => {
  await ctx.step("hotel", () => "h-1", {
    compensate: () => {
      throw new NonRetryableError("the hotel does not answer");
    },
  });
  throw new Error("no flight");
});
const waiter = workflow("approval", async (ctx, input: { invoice: string }) => {
  await ctx.task(approve, input);
});
const video = workflow("video", async (ctx) => ctx.task(render));
const media = workflow("media", async (ctx) => ctx.task(convert, { file: "a.mov" }));
const payment = workflow("payment", async (ctx) => ctx.task(charge, { cents: 5 }));
const mail = workflow({ name: "mail", queue: "mail" }, async (ctx) => {
  await ctx.receive(go);
});
const before = workflow("ledger", async (ctx) => {
  await ctx.step("open", () => 1);
  await ctx.receive(go);
  await ctx.step("post", () => 2);
});
const after = workflow("ledger", async (ctx) => {
  await ctx.step("open-book", () => 1);
  await ctx.receive(go);
});

export interface Scene {
  readonly hf: Client;
  /** The address of a dashboard, with its namespace: `page("admin", "workers")`. */
  readonly page: (role: "reader" | "writer" | "admin", path: string) => string;
  readonly close: () => Promise<void>;
}

export async function openScene(fill = true): Promise<Scene> {
  const hf = await connect("memory:", { logger: silentLogger });
  if (fill) await seed(hf);
  const boards = (["reader", "writer", "admin"] as const).map((role) =>
    dashboard(hf, {
      base: `/${role}`,
      auth: () => ({ user: `${role}-ann`, role, namespaces: ["default"], payloads: "full" }),
    }),
  );
  const server = await listen(boards);
  const { port } = server.address() as AddressInfo;
  return {
    hf,
    page: (role, path) => `http://127.0.0.1:${port}/${role}/default/${path}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      for (const board of boards) await board.close();
      await hf.close();
    },
  };
}

function listen(boards: readonly Dashboard[]): Promise<Server> {
  const server = createServer((request, response) => {
    const board = boards.find(({ base }) => request.url?.startsWith(base));
    if (board) toNode(board)(request, response);
    else response.writeHead(404).end();
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

async function seed(hf: Client): Promise<void> {
  const old = hf.worker({ workflows: [before], name: "old-code" });
  await old.start();
  for (const id of ["ledger-1", "ledger-2"]) await hf.start(before, undefined, { id });
  await until(hf, "ledger-2", "waiting");
  await old.drain();
  await hf
    .worker({
      workflows: [order, order2, report, nightly, buggy, saga, waiter, video, media, payment, mail, after],
      tasks: [convert, charge],
      name: "eu-1",
      labels: { region: "eu" },
    })
    .start();
  await hf.worker({ workflows: [report], name: "eu-2", queues: ["default"] }).start();
  await hf.versions.setDefault("order", "1");
  await hf.versions.canary("order", "2", 0.05);
  await seedRuns(hf);
  await seedSchedules(hf);
}

async function seedRuns(hf: Client): Promise<void> {
  const inputs = Array.from({ length: 24 }, (_, i) => ({ id: `o-${i}`, cents: 80 + i }));
  for (const input of inputs)
    await hf.start("order", input, { id: `order-${input.id}`, version: input.cents % 5 === 0 ? "2" : "1" });
  await hf.queues.set("mail", { concurrency: 2, perKey: { concurrency: 1 }, rate: { limit: 100, per: "1s" } });
  for (const [i, key] of ["acme", "acme", "acme", "globex", "initech", HOSTILE].entries())
    await hf.start(mail, undefined, { id: `mail-${i}`, key });
  await hf.start(waiter, { invoice: "i-1" }, { id: "approval-1" });
  await hf.start(video, undefined, { id: "video-1" });
  await hf.start(media, undefined, { id: "media-1" });
  await hf.start(payment, undefined, { id: "payment-1" });
  await hf.start(saga, undefined, { id: "booking-1" });
  for (const id of ["invoice-1", "invoice-2"]) await hf.start(buggy, undefined, { id });
  for (const id of ["ledger-1", "ledger-2"]) await hf.get(id).signal(go, "on");
  await hf.start(mail, undefined, { id: HOSTILE, queue: "default" });
  await until(hf, HOSTILE, "waiting");
  await hf.get(HOSTILE).pause({ reason: "look at it first", by: "ann" });
  for (const id of ["ledger-1", "ledger-2", "invoice-1", "invoice-2", HOSTILE]) await until(hf, id, "parked");
  for (const id of ["payment-1", "booking-1"]) await until(hf, id, "failed");
  await vi.waitFor(async () => {
    const { tasks } = await hf.tasks.list({ status: "held" });
    if (tasks[0]?.lastDetails === undefined) throw new Error("no heartbeat yet");
  }, WAIT_MS);
}

async function seedSchedules(hf: Client): Promise<void> {
  const day = 86_400_000;
  const nights = await hf.schedules.create({
    id: "nightly-report",
    workflow: report,
    input: { to: "ann@example.com" },
    cron: "30 2 * * *",
    timezone: "Europe/Berlin",
    overlap: "allow",
  });
  const now = (await nights.describe()).createdAt.getTime();
  await nights.backfill({ from: new Date(now - 9 * day), to: new Date(now) });
  await hf.schedules.create({ id: "hourly", workflow: report, input: { to: HOSTILE }, every: "1h" });
  const failing = await hf.schedules.create({
    id: "settle-books",
    workflow: nightly,
    cron: "0 4 * * *",
    timezone: "America/New_York",
  });
  await (await failing.trigger()).result().catch(() => undefined);
  const paused = await hf.schedules.create({ id: "crm-sync", workflow: report, input: { to: "crm" }, every: "10m" });
  await paused.pause({ note: "the CRM is being moved", by: "ann" });
}

async function until(hf: Client, id: string, status: string): Promise<void> {
  await vi.waitFor(async () => {
    const found = await hf.get(id).status();
    if (found !== status) throw new Error(`${id} is ${found}, not ${status}`);
  }, WAIT_MS);
}
