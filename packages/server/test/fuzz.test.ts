import { openClients, systemPorts } from "holdfast/adapter";
import { expect, test } from "vitest";
import { createKey } from "../src/index.ts";
import { fuzz } from "./fuzzing.ts";
import { serverUnderTest } from "./server-under-test.ts";

// HOLDFAST_FUZZ=100000 for a long one.
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
  for (const stream of ["WatchWorkflow", "Attach", "Watch", "ServerReflectionInfo"])
    expect([stream, (answered.get(stream) ?? 0) > COUNT / 200]).toEqual([stream, true]);
  expect((await fetch(`${t.server.url}/readyz`)).status).toBe(200);
  if (process.env["HOLDFAST_FUZZ"])
    process.stdout.write(
      `fuzz: rss ${process.memoryUsage().rss >> 20} MiB, heap ${process.memoryUsage().heapUsed >> 20} MiB, ${JSON.stringify([...statuses])}\n`,
    );
  await t.close();
}, 900_000);
