import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openStage, query, type Stage } from "../stage.ts";
import { faultsOf, runMutual } from "./mutual-load.ts";

const SECONDS = 4;
const name = `holdfast_mutual_${process.pid}`;
let stage: Stage;

// The server counts deadlocks for each database: in one of its own, those of other tests do not count.
beforeAll(async () => {
  await query(serverUrl(), `create database ${name}`);
  const own = new URL(serverUrl());
  own.pathname = name;
  stage = await openStage(own.href);
});

afterAll(async () => {
  await stage.remove();
  await query(serverUrl(), `drop database ${name} with (force)`);
});

function serverUrl(): string {
  const url = process.env.HOLDFAST_TEST_POSTGRES_URL;
  if (!url) throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
  return url;
}

test("two workers whose flushes touch each other's runs, in both directions, never wait for each other in a circle", async () => {
  const result = await runMutual({ stage, ms: SECONDS * 1_000, intervalMs: SECONDS * 1_000, pairs: 50 });
  expect({ result, faults: faultsOf(result) }).toMatchObject({ faults: [] });
  expect(result.finished).toBe(result.started);
}, 120_000);
