// A proxy that closes every stream over which nothing has come for a while, as Envoy and the balancers of clouds do.
import { once } from "node:events";
import http2 from "node:http2";
import type net from "node:net";
import { connect, type Logger, silentLogger, workflow } from "holdfast";
import { expect, onTestFinished, test } from "vitest";
import { memoryStore, serve } from "./served-store.ts";

const IDLE_MS = 150;

interface Proxy {
  readonly url: string;
  /** How many streams it has closed so far. */
  readonly cuts: number;
  /** From now on. The first session of a client is not opened again: whoever connects is told that there is no server. */
  begin(): void;
  /** Resolves when it has closed another one. */
  cut(): Promise<void>;
}

async function impatientProxy(port: number): Promise<Proxy> {
  const upstream = http2.connect(`http://127.0.0.1:${port}`);
  const heard = new Set<() => void>();
  const streams = new Set<http2.ServerHttp2Stream>();
  let cuts = 0;
  let begun = false;
  const proxy = http2.createServer();
  proxy.on("stream", (stream, { ":path": path, ":method": method, "content-type": type }) => {
    const onward = upstream.request({ ":path": path, ":method": method, "content-type": type });
    onward.on("response", (headers) => void (stream.destroyed || stream.respond(headers)));
    stream.pipe(onward);
    onward.pipe(stream);
    for (const one of [stream, onward]) one.on("error", () => {});
    streams.add(stream);
    if (begun) stream.setTimeout(IDLE_MS);
    stream.on("timeout", () => {
      cuts += 1;
      stream.close(http2.constants.NGHTTP2_CANCEL);
      onward.close(http2.constants.NGHTTP2_CANCEL);
      for (const tell of heard) tell();
      heard.clear();
    });
    stream.once("close", () => {
      streams.delete(stream);
      onward.close(http2.constants.NGHTTP2_CANCEL);
    });
  });
  const sessions = new Set<http2.ServerHttp2Session>();
  proxy.on("session", (session) => sessions.add(session));
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    upstream.destroy();
    for (const session of sessions) session.destroy();
    proxy.close();
  });
  return {
    url: `http://127.0.0.1:${(proxy.address() as net.AddressInfo).port}`,
    get cuts() {
      return cuts;
    },
    begin() {
      begun = true;
      for (const stream of streams) stream.setTimeout(IDLE_MS);
    },
    cut: () => new Promise((resolve) => void heard.add(resolve)),
  };
}

test("streams that a proxy closes while they are idle are opened again, and nobody notices", async () => {
  const served = await serve(memoryStore());
  const proxy = await impatientProxy(served.server.port);
  const errors: string[] = [];
  const logger: Logger = { ...silentLogger, error: (_, line) => void errors.push(line) };
  const there = await connect(proxy.url, { logger });
  const here = await connect(proxy.url, { logger });
  onTestFinished(async () => {
    await here.close();
    await there.close();
    await served.close();
  });
  let executed = 0;
  const order = workflow("order", async (ctx, n: number) => {
    const first = await ctx.step("first", () => {
      executed += 1;
      return n;
    });
    // The stream is closed while the step goes on.
    const second = await ctx.step("second", async () => {
      executed += 1;
      await proxy.cut();
      return first + 1;
    });
    await ctx.sleep("rest", "100ms");
    return ctx.step("third", () => {
      executed += 1;
      return second + 1;
    });
  });
  await there.worker({ workflows: [order] }).start();
  proxy.begin();
  for (let n = 0; n < 4; n += 1) {
    expect(await here.run(order, n)).toBe(n + 2);
    await proxy.cut();
  }
  expect(executed).toBe(12);
  expect(proxy.cuts).toBeGreaterThanOrEqual(8);
  expect(errors).toEqual([]);
});
