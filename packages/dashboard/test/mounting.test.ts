/** Below a path of an application: Express, Fastify, Hono, node:http; with POST, streams and deep links. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { connect, silentLogger, workflow } from "holdfast";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dashboard } from "../src/index.ts";
import { toNode } from "../src/node.ts";

const BASE = "/admin/holdfast";
const echo = workflow("echo", async (_ctx, input: unknown) => input);
const hf = await connect("memory:", { logger: silentLogger });
const board = dashboard(hf, { base: BASE, auth: "open" });
const closers: (() => unknown)[] = [];

beforeAll(() => hf.worker({ workflows: [echo] }).start());
afterAll(async () => {
  await board.close();
  await Promise.all(closers.map((close) => close()));
  await hf.close();
});

function listen(server: Server): Promise<string> {
  closers.push(() => server.close());
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
  );
}

function expressApp(parsed: boolean): Server {
  const app = express();
  if (parsed) app.use(express.json());
  app.use(BASE, toNode(board) as never);
  return createServer(app);
}

async function fastifyApp(): Promise<string> {
  const app = fastify({ forceCloseConnections: true });
  await app.register((f, _options, ready) => {
    f.removeAllContentTypeParsers();
    f.addContentTypeParser("*", (_request, _body, done) => done(null));
    f.all(`${BASE}/*`, (q, r) => {
      r.hijack();
      toNode(board)(q.raw, r.raw);
    });
    ready();
  });
  closers.push(() => app.close());
  return app.listen({ port: 0, host: "127.0.0.1" });
}

function honoApp(): Server {
  const app = new Hono();
  app.all(`${BASE}/*`, (c) => board.fetch(c.req.raw));
  return createServer(getRequestListener(app.fetch));
}

const MOUNTS: [string, () => Promise<string>][] = [
  ["node:http", () => listen(createServer(toNode(board)))],
  ["Express", () => listen(expressApp(false))],
  ["Express with express.json()", () => listen(expressApp(true))],
  ["Fastify", fastifyApp],
  ["Hono", () => listen(honoApp())],
];

describe.each(MOUNTS)("mounted in %s", (name, start) => {
  let url = "";
  beforeAll(async () => {
    url = `${await start()}${BASE}`;
  });

  test("the base without its slash leads to the page", async () => {
    const answer = await fetch(url, { redirect: "manual" });
    // A route of Fastify begins behind the slash.
    if (name === "Fastify") return expect(answer.status).toBe(404);
    expect([answer.status, new URL(answer.headers.get("location") ?? "", url).pathname]).toEqual([308, `${BASE}/`]);
  });

  test("a deep link is the page, with the base of its links", async () => {
    const answer = await fetch(`${url}/default/runs/a%2Fb?tab=events`);
    const html = await answer.text();
    expect([200, 503]).toContain(answer.status);
    if (answer.status === 200) expect(html).toContain(`<base href="${BASE}/">`);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test("a POST starts a run", async () => {
    const headers = { "content-type": "application/json", "x-holdfast-csrf": "1", origin: new URL(url).origin };
    const body = JSON.stringify({ workflow: "echo", input: '{"ä":[1,2]}' });
    const answer = await fetch(`${url}/api/default/start`, { method: "POST", headers, body });
    expect(answer.status).toBe(200);
    const { runId } = (await answer.json()) as { runId: string };
    expect(await hf.get({ runId }).result()).toEqual({ ä: [1, 2] });
    const plain = { ...headers, "content-type": "text/plain" };
    expect((await fetch(`${url}/api/default/start`, { method: "POST", headers: plain, body })).status).toBe(415);
  });

  test("the stream says what happens, while it happens", async () => {
    const gone = new AbortController();
    const answer = await fetch(`${url}/api/default/live?topics=runs`, { signal: gone.signal });
    expect(answer.headers.get("content-type")).toContain("text/event-stream");
    const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const until = async (wanted: RegExp): Promise<void> => {
      while (!wanted.test(text)) text += (await reader.read()).value ?? "";
    };
    await until(/"type":"hello"/);
    // Only what happens after the first look is news.
    const run = await hf.start(echo, 1);
    await run.result();
    const again = await hf.start(echo, 2);
    await until(/"type":"hint","topic":"runs"/);
    expect(again.created).toBe(true);
    gone.abort();
  });
});
