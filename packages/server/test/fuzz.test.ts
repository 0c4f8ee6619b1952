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
  const statuses = new Map<number, number>();
  const faults: string[] = [];
  await fuzz(t.server.url, token, COUNT, 7, (method, status, text) => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // 501: what is not built; 504: the time of the call was up. Bytes that are no message are "internal" in gRPC.
    const unread = text.includes('"parse binary: ') || text.includes('"cannot decode');
    if ((status === 500 && !unread) || text.includes(token))
      faults.push(`${method.name} ${status} ${text.slice(0, 300)}`);
  });
  expect(faults.slice(0, 5)).toEqual([]);
  expect(logged.filter((line) => line.includes(token) || line.includes("unexpected error")).slice(0, 3)).toEqual([]);
  expect(statuses.get(400) ?? 0).toBeGreaterThan(COUNT / 10);
  expect((await fetch(`${t.server.url}/readyz`)).status).toBe(200);
  await t.close();
}, 900_000);
