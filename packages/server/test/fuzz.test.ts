import { openClients, systemPorts } from "holdfast/adapter";
import { expect, test } from "vitest";
import { createKey } from "../src/index.ts";
import { fuzz } from "./fuzzing.ts";
import { serverUnderTest } from "./server-under-test.ts";

// HOLDFAST_FUZZ=100000 npm test -- packages/server/test/fuzz.test.ts for a long one.
const COUNT = Number(process.env["HOLDFAST_FUZZ"] ?? 2_000);

test("malformed messages crash nothing, are never the server's fault, and tell no secrets", async () => {
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
  await fuzz(t.server.url, token, COUNT, 7, (method, status, text) => {
    answered.set(method.name, (answered.get(method.name) ?? 0) + 1);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // 501: what is not built; 504: the time of the call was up. Bytes that are no message are "internal" in gRPC.
    const unread = text.includes('"parse binary: ') || text.includes('"cannot decode');
    const failed = status === 500 || text.includes('"code":"internal"');
    if ((failed && !unread) || status === 0 || text.includes(token))
      faults.push(`${method.name} ${status} ${text.slice(0, 300)}`);
  });
  expect(faults.slice(0, 5)).toEqual([]);
  expect(logged.filter((line) => line.includes(token) || line.includes("unexpected error")).slice(0, 3)).toEqual([]);
  expect(statuses.get(400) ?? 0).toBeGreaterThan(COUNT / 10);
  for (const stream of ["WatchWorkflow", "Attach", "Watch", "ServerReflectionInfo", "Session"])
    expect([stream, (answered.get(stream) ?? 0) > COUNT / 200]).toEqual([stream, true]);
  expect((await fetch(`${t.server.url}/readyz`)).status).toBe(200);
  // Nothing is left of any of them.
  await expect.poll(() => t.server.sessions).toBe(0);
  const metrics = await (
    await fetch(`${t.server.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  ).text();
  expect(Number(/^holdfast_server_connections (\d+)$/m.exec(metrics)?.[1])).toBeLessThan(20);
  if (process.env["HOLDFAST_FUZZ"])
    process.stdout.write(
      `fuzz: rss ${process.memoryUsage().rss >> 20} MiB, heap ${process.memoryUsage().heapUsed >> 20} MiB, ${JSON.stringify([...statuses])}\n`,
    );
  await t.close();
}, 900_000);
