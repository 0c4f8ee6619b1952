/** The same pages on every store, embedded and through a server; and a signal that appears without reload. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openServer } from "@holdfast/server";
import { type Client, connect, signal, silentLogger, workflow } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LiveMessage } from "../src/api/api-messages.ts";
import { type Dashboard, dashboard } from "../src/index.ts";
import { get, ORIGIN, post } from "./asking.ts";

const go = signal<number>("go");
const wait = workflow("wait", async (ctx) => ctx.receive(go));

const folder = mkdtempSync(path.join(tmpdir(), "dashboard-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const postgres = process.env["HOLDFAST_TEST_POSTGRES_URL"];
const STORES: [string, () => Promise<{ hf: Client; end: () => Promise<unknown> }>][] = [
  ["memory", () => opened("memory:")],
  ["SQLite", () => opened(`file:${path.join(folder, "a.db")}`)],
  ["a server", throughServer],
  ...(postgres ? [["PostgreSQL", () => opened(postgres, "dashboard_test")] as (typeof STORES)[number]] : []),
];

async function opened(url: string, schema?: string) {
  const hf = await connect(url, { logger: silentLogger, ...(schema ? { schema } : {}) });
  return { hf, end: async () => {} };
}

async function throughServer() {
  const server = await openServer({ url: "memory:", port: 0, logger: silentLogger });
  const hf = await connect(server.url, { logger: silentLogger });
  return { hf, end: () => server.close() };
}

describe.each(STORES)("on %s", (_, open) => {
  let [hf, board, end] = [] as unknown as [Client, Dashboard, () => Promise<unknown>];
  const id = `w-${process.pid}`;

  beforeAll(async () => {
    const store = await open();
    hf = store.hf;
    end = store.end;
    await hf.worker({ workflows: [wait] }).start();
    board = dashboard(hf, { auth: "open" });
  });
  afterAll(async () => {
    await board.close();
    await hf.close();
    await end();
  });

  test("a run is started, waits, gets its signal and ends, as the page sees it; nothing is loaded anew", async () => {
    const started = await post(board, "api/default/start", { workflow: "wait", id, ifClosed: "start" });
    const { runId } = started.body;
    await expect.poll(async () => (await get(board, `api/default/runs/${id}`)).body.run.status).toBe("waiting");
    const gone = new AbortController();
    const url = `${ORIGIN}/api/default/live?topics=run:${runId}`;
    const stream = await board.fetch(new Request(url, { headers: { host: "127.0.0.1:7433" }, signal: gone.signal }));
    const news = messages(stream);
    expect((await news.next()).value).toMatchObject({ type: "hello" });
    const sent = post(board, `api/default/runs/${id}/signal`, { name: "go", payload: "7" });
    const seen: LiveMessage[] = [];
    for await (const message of news) {
      seen.push(message);
      if (message.type === "hint" && message.status === "completed") break;
    }
    expect((await sent).status).toBe(200);
    expect(seen.at(-1)).toMatchObject({ topic: `run:${runId}`, runId, id });
    const { body } = await get(board, `api/default/runs/${id}`);
    expect(body.run.output.text).toBe("7");
  });

  test("every page has its data", async () => {
    for (const page of [
      "overview",
      "runs",
      "schedules",
      "queues",
      "workers",
      "tasks",
      "workflows",
      "parked",
      "settings",
      "views",
    ])
      expect(`${page} ${(await get(board, `api/default/${page}`)).status}`).toBe(`${page} 200`);
  });

  test("a schedule is made, paused, triggered and deleted; a view is saved and removed", async () => {
    const made = await post(board, "api/default/schedules/create", { id: "s1", workflow: "wait", cron: "0 3 * * *" });
    expect(made.body).toEqual({ id: "s1" });
    await post(board, "api/default/schedules/s1/pause", { note: "for now" });
    const { body } = await get(board, "api/default/schedules/s1");
    expect(body.schedule).toMatchObject({ paused: true, note: "for now", by: "local", when: "0 3 * * *" });
    expect(body.upcoming.length).toBe(20);
    expect((await get(board, "api/default/schedules/s1/calendar")).body.timezone).toBe("UTC");
    const run = (await post(board, "api/default/schedules/s1/trigger", {})).body;
    expect(
      (await post(board, `api/default/runs/${encodeURIComponent(run.id)}/terminate`, { reason: "enough" })).status,
    ).toBe(200);
    expect((await get(board, `api/default/runs/${run.runId}/audit`)).body.entries).toContainEqual(
      expect.objectContaining({ by: "local", reason: "enough" }),
    );
    expect((await post(board, "api/default/schedules/s1/delete", {})).status).toBe(200);
    await post(board, "api/default/views/save", { name: "mine", search: "status=failed" });
    expect((await get(board, "api/default/views")).body.views).toMatchObject([
      { name: "mine", search: "status=failed" },
    ]);
    await post(board, "api/default/views/remove", { name: "mine" });
    expect((await get(board, "api/default/views")).body.views).toEqual([]);
  });

  test("a batch is counted, begun, and says how far it is", async () => {
    await hf.startMany(
      [1, 2, 3].map((n) => ({ workflow: wait, options: { id: `b-${n}`, ifClosed: "start" as const } })),
    );
    const filter = { workflow: "wait", status: ["pending", "running", "waiting"] };
    const { body: count } = await post(board, "api/default/batch/count", { filter });
    expect(count).toMatchObject({ count: 3, capped: false });
    const asked = { action: "terminate", filter, id: `batch-${process.pid}`, reason: "test" };
    expect((await post(board, "api/default/batch", asked)).body).toEqual({ id: asked.id });
    await expect
      .poll(async () => (await get(board, `api/default/batches/${asked.id}`)).body, { timeout: 15_000 })
      .toMatchObject({ status: "completed", done: 3, action: "terminate", by: "local", reason: "test" });
    expect((await get(board, "api/default/batches")).body.batches.length).toBeGreaterThan(0);
  });
});

async function* messages(stream: Response): AsyncGenerator<LiveMessage, void> {
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += decoder.decode(value);
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) yield JSON.parse(/^data: (.*)$/m.exec(part)?.[1] ?? "{}") as LiveMessage;
  }
}
