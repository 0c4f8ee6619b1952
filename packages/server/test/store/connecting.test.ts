import http from "node:http";
import net from "node:net";
import { transaction } from "@holdfast/sqlite";
import { type Client, type ConnectOptions, connect, type Logger, silentLogger, workflow } from "holdfast";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Server, ServerOptions } from "../../src/index.ts";
import { memoryStore, type ServedStore, serve } from "./served-store.ts";

const double = workflow("double", (ctx, n: number) => ctx.step("double", async () => 2 * n));

async function served(options: Partial<ServerOptions> = {}, opened = memoryStore()): Promise<ServedStore> {
  const one = await serve(opened, options);
  onTestFinished(() => one.close());
  return one;
}

async function client(url: string, options: ConnectOptions = {}): Promise<Client> {
  const hf = await connect(url, { logger: silentLogger, ...options });
  onTestFinished(() => hf.close());
  return hf;
}

describe("connect with the address of a server", () => {
  test("gives the client and the workers that any store gives", async () => {
    const { url } = await served();
    const hf = await client(url);
    await hf.worker({ workflows: [double] }).start();
    expect(await hf.run(double, 21)).toBe(42);
    expect(await (await client(url)).count()).toBe(1);
  });

  test("where nobody listens is refused at once, without the token", async () => {
    const port = await freePort();
    const refused = connect(`http://127.0.0.1:${port}`, { logger: silentLogger, token: "hunter2" });
    await expect(refused).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(refused).rejects.not.toThrow("hunter2");
  });

  test.each([
    ["http://me:hunter2@127.0.0.1:1", "pass the option token"],
    ["http://127.0.0.1:1/hunter2", "more than a host and a port"],
    ["http://", "cannot be read"],
  ])("%s is refused, and not repeated", async (url, why) => {
    const refused = connect(url, { logger: silentLogger });
    await expect(refused).rejects.toMatchObject({ code: "invalid_option", message: expect.stringContaining(why) });
    await expect(refused).rejects.not.toThrow("hunter2");
  });

  test("asks for the token again for each connection", async () => {
    let { server, opened } = await served({ sessions: { limits: { leaveMs: 0 } } });
    const asked: number[] = [];
    const hf = await client(server.url, {
      token: async () => {
        asked.push(server.port);
        return "any";
      },
    });
    await server.close();
    ({ server } = await served({ port: server.port }, opened));
    expect(await hf.count()).toBe(0);
    expect(asked.length).toBeGreaterThan(1);
  });
});

/** What lies between passes on requests of HTTP/1.1, and nothing else. */
async function oldProxy(to: Server): Promise<string> {
  const proxy = http.createServer((request, response) => {
    const { url: path, method, headers } = request;
    const onward = http.request({ host: "127.0.0.1", port: to.port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as net.AddressInfo).port}`;
}

describe("where nothing on the way knows HTTP/2", () => {
  test("the same calls go one by one, hints are polled, and that is logged", async () => {
    const url = await oldProxy((await served({ sessions: { limits: { pollMs: 200 } } })).server);
    const lines: string[] = [];
    const log = (_: object, line: string): void => void lines.push(line);
    const logger: Logger = { debug() {}, info() {}, warn: log, error: log };
    const hf = await client(url, { logger });
    expect(lines).toEqual([expect.stringContaining("does not carry HTTP/2 streams")]);
    await hf.worker({ workflows: [double] }).start();
    const other = await client(url);
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => other.run(double, i)));
    expect(results).toEqual(results.map((_, i) => 2 * i));
  });

  test("a token that the server does not know is refused there as well", async () => {
    const url = await oldProxy((await served({ auth: "keys" })).server);
    await expect(connect(url, { logger: silentLogger })).rejects.toMatchObject({ code: "unauthenticated" });
  });
});

test("a transaction step is not supported: a function cannot travel", async () => {
  const move = workflow("move", (ctx) => transaction(ctx, "move", () => 1));
  const { url } = await served();
  const hf = await client(url);
  await hf.worker({ workflows: [move] }).start();
  const failed = hf.run(move);
  await expect(failed).rejects.toMatchObject({ cause: { recordedCode: "not_supported" } });
});

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
