// A store that does not answer: how long a caller waits for that to be told.

import { silentLogger } from "holdfast";
import { hookedStore, type OpenedClients, openClients } from "holdfast/adapter";
import { expect, onTestFinished, test } from "vitest";
import { openServer } from "../src/index.ts";
import { memoryStore } from "./store/served-store.ts";

test.each([
  ["ListWorkflows", {}],
  ["GetWorkflow", { runId: "01a1f5e1-5c5f-750d-808d-acf8bdb06a9e" }],
  ["GetWorkflowByExternalId", { externalId: "a" }],
  ["AwaitWorkflow", { externalId: "a", waitMs: 3_000 }],
])("%s is unavailable after 25 seconds", async (call, message) => {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  const opened = memoryStore();
  const late = async <P, R>(_params: P, answer: () => Promise<R>): Promise<R> => {
    await given;
    return answer();
  };
  const store = hookedStore(opened.store, { "runs.list": late, "runs.read": late });
  const adapter = { name: "given", schemes: ["given"], openStore: async () => ({ ...opened, store }) };
  const open = async (): Promise<OpenedClients> => {
    const clients = await openClients("given:", { adapters: [adapter], logger: silentLogger });
    const { clock } = clients;
    const setTimer: typeof clock.setTimer = (ms, ring) => clock.setTimer(ms === 25_000 ? 0 : ms, ring);
    const quick = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      immediate: (ring: () => void) => clock.immediate(ring),
      setTimer,
    };
    return { ...clients, clock: quick };
  };
  const server = await openServer({ port: 0, url: "given:", logger: silentLogger, coordinate: false, open });
  onTestFinished(() => server.close());
  const answer = await fetch(`${server.url}/holdfast.v1.WorkflowService/${call}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(message),
  });
  give();
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, "unavailable"]);
});
