import { openClients, systemPorts } from "holdfast/adapter";
import { expect, test } from "vitest";
import { createKey } from "../src/index.ts";
import { FUZZED, fuzz, LANES } from "./fuzzing.ts";
import { serverUnderTest } from "./server-under-test.ts";

// HOLDFAST_FUZZ=100000 npm test -- packages/server/test/fuzz.test.ts for a long one.
const COUNT = Number(process.env["HOLDFAST_FUZZ"] ?? 2_000);
/** Ten times as long as a quiet machine needs. */
const LIMIT_MS = 120_000 + COUNT * 15;

/** Whoever calls a server knows nothing of it. */
const METHOD_OF_LIBRARY = /\b(hf|handle|ctx|worker|store|t)\.[a-z]+[A-Za-z.]*\(/;

test(
  "malformed messages crash nothing, are never the server's fault, and tell no secrets",
  async () => {
    const logged: string[] = [];
    const keep = (fields: object, text: string): void => void logged.push(`${JSON.stringify(fields)} ${text}`);
    const logger = { debug: keep, info: keep, warn: keep, error: keep };
    const wide = { perSecond: 1e9, burst: 1e9 };
    const t = await serverUnderTest({
      auth: "keys",
      logger,
      limits: { starts: wide, claims: wide, reads: wide, bytes: wide },
      sessions: { limits: { pollMs: 50, helloMs: 200 } },
    });
    const { opened } = await openClients(t.store);
    const { token } = await createKey(opened.access!, systemPorts.random, {
      name: "fuzz",
      role: "admin",
      namespace: "*",
      expiresAt: null,
    });
    const answered = new Map<string, number>();
    const statuses = new Map<number, number>();
    const faults: string[] = [];
    const memory: string[] = [];
    let count = 0;
    await fuzz(t.server.url, token, COUNT, 7, (method, status, text) => {
      count += 1;
      if (count % Math.ceil(COUNT / 5) === 0) memory.push(memoryInUse());
      answered.set(method.name, (answered.get(method.name) ?? 0) + 1);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      // 501: what is not built; 504: the time of the call was up. Bytes that are no message are "internal" in gRPC.
      const unread = text.includes('"parse binary: ') || text.includes('"cannot decode');
      const inOtherWords = METHOD_OF_LIBRARY.test(text);
      const failed = status === 500 || text.includes('"code":"internal"');
      if ((failed && !unread) || status === 0 || text.includes(token) || inOtherWords)
        faults.push(`${method.name} ${status} ${text.slice(0, 300)}`);
    });
    const told = logged.filter((line) => line.includes(token));
    const unexpected = logged.filter((line) => line.includes("unexpected error"));
    if (process.env["HOLDFAST_FUZZ"])
      process.stdout.write(
        `fuzz: ${count} messages, ${faults.length} faults, ${unexpected.length} unexpected errors, ${told.length} secrets in ${logged.length} lines of the log; ${memory.join(", ")}; ${JSON.stringify([...statuses])}\n`,
      );
    expect([...told, ...unexpected].slice(0, 3)).toEqual([]);
    expect(faults.slice(0, 5)).toEqual([]);
    expect(count).toBe(COUNT);
    // Methods of two services that have the same name share an entry.
    const share = Math.floor(COUNT / FUZZED.length);
    expect(FUZZED.filter(({ name }) => (answered.get(name) ?? 0) < share).map(({ name }) => name)).toEqual([]);
    expect(statuses.get(400) ?? 0).toBeGreaterThan(COUNT / 10);
    for (const stream of ["WatchWorkflow", "Attach", "Watch", "ServerReflectionInfo", "Session"])
      expect([stream, (answered.get(stream) ?? 0) > COUNT / 200]).toEqual([stream, true]);
    expect((await fetch(`${t.server.url}/readyz`)).status).toBe(200);
    // Nothing is left of any of them.
    await expect.poll(() => t.server.sessions).toBe(0);
    // The client keeps some open, as many as it has had at once; a leak would grow with the count.
    expect(await connections(t.server.url, token)).toBeLessThan(2 * LANES);
    await t.close();
  },
  LIMIT_MS,
);

async function connections(url: string, token: string): Promise<number> {
  const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  return Number(/^holdfast_server_connections (\d+)$/m.exec(await metrics.text())?.[1]);
}

/** Of the test and its server, which are one process. */
function memoryInUse(): string {
  const { rss, heapUsed } = process.memoryUsage();
  return `${rss >> 20} MiB (heap ${heapUsed >> 20})`;
}
