import type { StoreMethod } from "holdfast/adapter";
import { MemoryAccessStore, VirtualClock } from "holdfast/testing";
import { expect, test } from "vitest";
import { NamespaceRules } from "../access/namespace-rules.ts";
import { ANYONE } from "../access/principal.ts";
import { DEFAULT_RATES, RateLimits } from "../access/rate-limits.ts";
import { Admission } from "./admission.ts";

const PLAIN = new Uint8Array([1, 2]);
const SEALED = new Uint8Array([3, 2]);

async function sealedNamespace() {
  const clock = new VirtualClock();
  const access = new MemoryAccessStore(clock);
  await access.createNamespace({ name: "shop", displayName: "", description: "" });
  await access.changeNamespace({ name: "shop", settings: { requiresEncryption: true } });
  let reads = 0;
  const readNamespace: typeof access.readNamespace = (params) => {
    reads += 1;
    return access.readNamespace(params);
  };
  const counted = new Proxy(access, {
    get: (target, name) => (name === "readNamespace" ? readNamespace : Reflect.get(target, name, target)),
  });
  const admission = new Admission(new RateLimits(clock, DEFAULT_RATES), new NamespaceRules(counted, clock));
  const admit = (method: StoreMethod, params: unknown) => admission.admit(ANYONE, { method, params, bytes: 10 });
  return { clock, admit, reads: () => reads };
}

const namespace = "shop";
const commit = (payload: Uint8Array, type = "step_completed") => ({
  commits: [{ namespace, events: [{ type, payload }], transition: { type: "none" } }],
});

test.each<[StoreMethod, string, (payload: Uint8Array) => unknown]>([
  [
    "tasks.finish",
    "store_refused",
    (payload) => ({ finishes: [{ namespace, result: { type: "completed", payload } }] }),
  ],
  ["tasks.beat", "invalid_argument", (details) => ({ beats: [{ namespace, details }] })],
  ["asks.ask", "invalid_argument", (payload) => ({ asks: [{ namespace, payload }] })],
  [
    "asks.answer",
    "invalid_argument",
    (payload) => ({ answers: [{ namespace, answer: { type: "answered", payload } }] }),
  ],
  ["runs.commit", "store_refused", (payload) => commit(payload)],
  ["runs.commit", "store_refused", (payload) => commit(payload, "update_completed")],
  ["runs.commit", "store_refused", (payload) => commit(payload, "child_completed")],
])("%s with a plain value is refused as %s where a namespace requires encryption", async (method, code, paramsOf) => {
  const { admit } = await sealedNamespace();
  await admit(method, paramsOf(SEALED));
  await expect(admit(method, paramsOf(PLAIN))).rejects.toMatchObject({ code, data: { namespace } });
});

test("what was told by another namespace passes", async () => {
  const { admit } = await sealedNamespace();
  await admit("runs.commit", commit(PLAIN, "message_sent"));
});

test("encrypted commits read no namespace, plain ones one in five seconds", async () => {
  const { admit, clock, reads } = await sealedNamespace();
  for (let i = 0; i < 1_000; i += 1) await admit("runs.commit", commit(SEALED));
  expect(reads()).toBe(0);
  const plain = async () => {
    for (let i = 0; i < 1_000; i += 1) await admit("runs.commit", commit(PLAIN)).catch(() => {});
  };
  await plain();
  expect(reads()).toBe(1);
  await clock.advance("6s");
  await plain();
  expect(reads()).toBe(2);
});
