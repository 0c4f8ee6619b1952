// A store that is away for a moment: whatever changes something waits for it, under one rule.
import { silentLogger } from "holdfast";
import { HoldfastError, hookedStore, type OpenedStore } from "holdfast/adapter";
import { expect, onTestFinished, test } from "vitest";
import { memoryStore, serve } from "./store/served-store.ts";

/** Fails as often as it is told to. */
function failing(opened: OpenedStore, data: Record<string, unknown> = {}) {
  let left = 0;
  const away = (): void => {
    if (left === 0) return;
    left -= 1;
    throw new HoldfastError("store_unavailable", "PostgreSQL at db.example: connection refused", {
      data: { where: "db.example", ...data },
    });
  };
  const stumble = async <P, R>(_params: P, call: () => Promise<R>): Promise<R> => {
    away();
    return call();
  };
  const store = hookedStore(opened.store, {
    "runs.start": stumble,
    "workers.register": stumble,
    "inbox.deliver": stumble,
  });
  const { access } = opened;
  const known = new Proxy(access!, {
    get: (target, name) => {
      const member = target[name as keyof typeof target] as unknown;
      if (typeof member !== "function") return member;
      return async (...given: unknown[]) => {
        if (name === "readNamespace") away();
        return member.apply(target, given);
      };
    },
  });
  const fail = (times: number): void => {
    left = times;
  };
  return { opened: { ...opened, store, access: known }, fail };
}

async function posting(opened: OpenedStore) {
  const served = await serve(opened, { coordinate: false, logger: silentLogger });
  onTestFinished(() => served.close());
  return async (call: string, body: object) => {
    const answer = await fetch(`${served.url}/holdfast.v1.${call}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, ...((await answer.json()) as { message?: string }) };
  };
}

const input = { data: Buffer.from("1").toString("base64") };

test.each([
  ["WorkflowService/StartWorkflow", { workflowType: "w", externalId: "a", input }],
  ["WorkflowService/SignalWorkflow", { externalId: "open", name: "go", payload: input }],
  ["WorkerService/Register", { taskQueue: "q", taskTypes: ["t"] }],
])("%s waits for a store that is away", async (call, body) => {
  const { opened, fail } = failing(memoryStore());
  const post = await posting(opened);
  await post("WorkflowService/StartWorkflow", { namespace: "other", workflowType: "w" });
  fail(0);
  if (call.endsWith("SignalWorkflow"))
    await post("WorkflowService/StartWorkflow", { workflowType: "w", externalId: "open" });
  // Another server, which knows nothing of the namespace yet.
  const fresh = await posting(opened);
  fail(4);
  expect((await fresh(call, body)).status).toBe(200);
});

test("a store that can say that its disk is full is not called away", async () => {
  for (const data of [{ errcode: 13 }, { sqlState: "53100" }]) {
    const { opened, fail } = failing(memoryStore(), { ...data, lasting: true });
    const post = await posting(opened);
    fail(1_000);
    const { status, message } = await post("WorkflowService/StartWorkflow", { workflowType: "w" });
    expect([status, message]).toEqual([503, expect.stringMatching(/^The disk of the server's store is full/)]);
    fail(0);
  }
});
