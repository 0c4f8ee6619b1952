/** What a page costs, counted: calls of the store, rows, bytes. A run of 50,000 ops, and a store with very many runs. */
import { gunzipSync } from "node:zlib";
import { connect, silentLogger, workflow } from "holdfast";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Dashboard, dashboard } from "../src/index.ts";
import { ORIGIN } from "./asking.ts";

const OPS = 50_000;
const RUNS = 20_000;

const long = workflow("long", async (ctx, ops: number) => {
  for (let n = 0; n < ops; n++) await ctx.sideEffect("tick", () => n);
  return ops;
});
const quick = workflow("quick", async (_ctx, n: number) => n);

const hf = await connect("memory:", { logger: silentLogger, limits: { opsMax: OPS + 1 } });
let board: Dashboard;

beforeAll(async () => {
  await hf.worker({ workflows: [long, quick], concurrency: 500 }).start();
  await hf.run(long, OPS, { id: "long" });
  for (let n = 0; n < RUNS; n += 1_000)
    await hf.startMany(
      Array.from({ length: 1_000 }, (_, index) => ({
        workflow: quick,
        input: n + index,
        options: { id: `q-${n + index}`, delay: "1 day" },
      })),
    );
  board = dashboard(hf, { auth: "open" });
}, 240_000);
afterAll(async () => {
  await board.close();
  await hf.close();
});

async function size(path: string): Promise<{ bytes: number; zipped: number; body: any }> {
  const request = new Request(`${ORIGIN}/${path}`, { headers: { host: "127.0.0.1:7433", "accept-encoding": "gzip" } });
  const answer = await board.fetch(request);
  expect(answer.status).toBe(200);
  const sent = Buffer.from(await answer.arrayBuffer());
  const text = answer.headers.get("content-encoding") === "gzip" ? gunzipSync(sent) : sent;
  return { bytes: text.length, zipped: sent.length, body: JSON.parse(text.toString()) };
}

test("a run of 50,000 ops is one request of columns; what follows is only what is new", async () => {
  const { bytes, zipped, body } = await size("api/default/runs/long/timeline");
  expect(body.op.length).toBe(OPS);
  expect(bytes).toBeLessThan(OPS * 60);
  expect(zipped).toBeLessThan(OPS * 16);
  const again = await size(`api/default/runs/long/timeline?since=${body.seq}`);
  expect(again.body.op.length).toBe(0);
  expect(again.bytes).toBeLessThan(2_000);
});

test("its events come in windows of 200, from any place, without the others", async () => {
  const { body, bytes } = await size("api/default/runs/long/events?from=40000&limit=1000000");
  expect(body.events.length).toBe(200);
  expect(body.events[0].seq).toBe(40_000);
  expect(body.next).toBe(40_200);
  expect(bytes).toBeLessThan(60_000);
});

test("a page of a store with very many runs has its rows, and counting stops", async () => {
  const first = await size("api/default/runs?limit=100");
  expect(first.body.runs.length).toBe(100);
  expect(first.zipped).toBeLessThan(12_000);
  const second = await size(`api/default/runs?limit=100&cursor=${first.body.cursor}`);
  expect(second.body.runs.length).toBe(100);
  expect(second.body.runs[0].runId).not.toBe(first.body.runs[99].runId);
  expect((await size("api/default/runs/count")).body).toEqual({ count: 10_000, capped: true });
  expect((await size("api/default/runs/count?exact=1")).body).toEqual({ count: RUNS + 1, capped: false });
  expect((await size("api/default/overview")).bytes).toBeLessThan(20_000);
  expect((await size("api/default/runs/histogram")).body.counts.length).toBe(24);
});
