/** The handler on a memory store: pages, reads, actions. */
import { connect, signal, silentLogger, task, workflow } from "holdfast";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { dashboard } from "../src/index.ts";
import { get, post } from "./asking.ts";

const paid = signal<{ cents: number }>("paid");
const ship = task<{ to: string }, string>({ name: "ship", external: true });
const order = workflow("order", async (ctx, input: { cents: number; secret?: string }) => {
  await ctx.step("reserve", () => "r1", { compensate: () => undefined });
  const got = await ctx.receive(paid);
  if (got.cents < 0) throw new Error("card declined");
  await ctx.task(ship, { to: "here" });
  return { total: got.cents + input.cents };
});

const hf = await connect("memory:", { logger: silentLogger });
const worker = hf.worker({ workflows: [order], name: "w1" });
const board = dashboard(hf, { base: "/admin", auth: "open" });

beforeAll(async () => {
  await worker.start();
  await hf.start(order, { cents: 1, secret: "s3cret" }, { id: "o1", attributes: { tenant: "acme" } });
  await hf.start(order, { cents: 2 }, { id: "o2" });
  await settled("o1", "waiting");
  await settled("o2", "waiting");
});
afterAll(async () => {
  await board.close();
  await hf.close();
});

async function settled(id: string, status: string): Promise<void> {
  await vi.waitFor(async () => expect(await hf.get(id).status()).toBe(status), { timeout: 10_000 });
}

test("the session says who somebody is", async () => {
  expect((await get(board, "api/session")).body).toMatchObject({
    role: "admin",
    namespaces: ["default"],
    payloads: "full",
    readOnly: false,
  });
});

test("runs are listed with what they wait for, counted and filtered", async () => {
  const { body } = await get(board, "api/default/runs?status=waiting");
  expect(body.runs.map((run: { id: string }) => run.id).sort()).toEqual(["o1", "o2"]);
  expect(body.runs[0].why).toMatchObject({ kind: "signal", op: "receive:paid" });
  expect((await get(board, "api/default/runs/count?attr.tenant=acme")).body).toEqual({ count: 1, capped: false });
  const either = await get(board, `api/default/runs?q=${encodeURIComponent("id:o1 OR (id:o2 AND status:failed)")}`);
  expect(either.body.runs.map((run: { id: string }) => run.id)).toEqual(["o1"]);
  const word = await get(board, "api/default/runs?q=o2");
  expect(word.body.runs.map((run: { id: string }) => run.id)).toEqual(["o2"]);
  expect((await get(board, "api/default/runs?q=status:nope")).body).toMatchObject({ code: "bad_filter" });
});

test("of newer runs only those are counted that are newer, also when the run that the page knows matches no more", async () => {
  const [newest, older] = (await get(board, "api/default/runs")).body.runs;
  const newer = async (than: { runId: string; createdAt: number }, filter = "") =>
    (await get(board, `api/default/runs/newer?than=${than.runId}&at=${than.createdAt}${filter}`)).body;
  expect(await newer(newest)).toEqual({ count: 0, capped: false });
  expect(await newer(older)).toEqual({ count: 1, capped: false });
  expect((await newer({ ...older, runId: "gone" }, "&status=failed")).count).toBe(0);
});

test("a run page says why, offers the signal, and shows its ops as columns", async () => {
  const { body } = await get(board, "api/default/runs/o1");
  expect(body.why.resolve).toEqual({ do: "signal", label: "Send paid", signal: "paid" });
  expect(body.run.input).toMatchObject({ form: "json", truncated: false });
  expect(body.run.compensations).toEqual(["reserve"]);
  const { body: line } = await get(board, "api/default/runs/o1/timeline");
  expect(line.op).toEqual(["reserve", "receive:paid"]);
  expect(line.state.map((index: number) => line.statuses[index])).toEqual(["completed", "waiting"]);
  expect(line.critical).toEqual([0]);
});

test("a signal from the page goes on with the run; an external task is completed; the result is there", async () => {
  const before = (await get(board, "api/default/runs/o1/events")).body;
  expect(before.total).toBeGreaterThan(2);
  expect((await post(board, "api/default/runs/o1/signal", { name: "paid", payload: '{"cents":5}' })).status).toBe(200);
  await expect.poll(async () => (await get(board, "api/default/tasks")).body.tasks.length).toBe(1);
  const [open] = (await get(board, "api/default/tasks?status=external")).body.tasks;
  expect(open).toMatchObject({ name: "ship", id: "o1" });
  expect(JSON.stringify(open)).not.toMatch(/secret|token/);
  await expect
    .poll(async () => (await get(board, "api/default/runs/o1")).body.why.resolve)
    .toMatchObject({ do: "complete-task" });
  await post(board, "api/default/tasks/complete", { ref: open.ref, result: '"sent"' });
  await settled("o1", "completed");
  const page = (await get(board, "api/default/runs/o1")).body;
  expect(JSON.parse(page.run.output.text)).toEqual({ total: 6 });
  expect(page.run.actions).toEqual(["query", "fork"]);
});

test("every read answers", async () => {
  const reads = [
    "overview",
    "facets",
    "views",
    "runs/histogram",
    "runs/newer",
    "runs/rows?runIds=",
    "runs/o2/data",
    "runs/o2/relations",
    "runs/o2/compensation",
    "runs/o2/audit",
    "runs/o2/export",
    "runs/o2/payload/input",
    "runs/o2/payload/0",
    "compare?a=o1&b=o2",
    "grid?workflow=order",
    "schedules",
    "queues",
    "queues/default/waiting",
    "workers",
    "workers/events",
    "tasks",
    "workflows",
    "workflows/order",
    "parked",
    "audit",
    "settings",
    "batches",
  ];
  for (const path of reads) {
    const { status, body } = await get(board, `api/default/${path}`);
    expect(`${path} ${status} ${status === 200 ? "" : JSON.stringify(body)}`).toBe(`${path} 200 `);
  }
});

test("a failed run whose work was undone is not offered a retry, which would be refused", async () => {
  const run = await hf.start(order, { cents: 3 }, { id: "o3" });
  await settled("o3", "waiting");
  await run.signal(paid, { cents: -1 });
  await settled("o3", "failed");
  const { body } = await get(board, `api/default/runs/${run.runId}`);
  expect(body.run).toMatchObject({ compensation: "compensated", actions: ["query", "fork"] });
  expect(body.why.resolve).toBeNull();
  expect(await post(board, `api/default/runs/${run.runId}/retry`, {})).toMatchObject({ status: 409 });
});
