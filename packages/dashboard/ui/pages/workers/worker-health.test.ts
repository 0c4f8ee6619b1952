import { expect, test } from "vitest";
import { healthOf, leaseLeft, type WorkerFacts } from "./worker-health.ts";

const worker = (over: Partial<WorkerFacts> = {}): WorkerFacts => ({
  status: "online",
  drainAsked: false,
  leaseMs: 30_000,
  heartbeatAt: 100_000,
  leaseExpiresAt: 130_000,
  died: false,
  ...over,
});
const health = (over: Partial<WorkerFacts>, now = 105_000) => healthOf(worker(over), now).health;

test("a worker is healthy while its heartbeats come, late when one is missing, expired when its lease is over", () => {
  expect([105_000, 115_000, 115_001, 129_999, 130_000].map((now) => health({}, now))).toEqual([
    "healthy",
    "healthy",
    "late",
    "late",
    "expired",
  ]);
});

test("a worker that drains, or is asked to, is draining", () => {
  expect(health({ status: "draining" })).toBe("draining");
  expect(health({ drainAsked: true })).toBe("draining");
});

test("a worker that is gone has died or left", () => {
  expect(health({ status: "offline", died: true })).toBe("died");
  expect(health({ status: "offline" })).toBe("stopped");
});

test("what is left of a lease is between nothing and all of it", () => {
  expect([90_000, 100_000, 115_000, 200_000].map((now) => leaseLeft(worker(), now))).toEqual([1, 1, 0.5, 0]);
});
