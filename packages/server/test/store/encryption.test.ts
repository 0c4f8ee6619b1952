// A namespace that requires encryption takes no plain value, whichever way it comes.
import { createClient } from "@connectrpc/connect";
import { NamespaceService } from "@holdfast/protocol";
import { type Client, connect, query, signal, task, workflow } from "holdfast";
import { systemPorts } from "holdfast/adapter";
import { encrypted } from "holdfast/codecs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerUnderTest, serverUnderTest, silent } from "../server-under-test.ts";

const go = signal<string>("go");
const state = query<string, string>("state");
const double = task({ name: "double", queue: "sealed" }, async (n: number, t) => {
  await t.heartbeat("half");
  return n * 2;
});
const broken = task({ name: "broken", queue: "sealed", retry: { attempts: 1 } }, async (_: number): Promise<number> => {
  throw new Error("no");
});
const child = workflow("child", async (_ctx, fails: boolean) => {
  if (fails) throw new Error("no");
  return "child";
});
const everything = workflow("everything", async (ctx, round: number): Promise<unknown> => {
  const step = await ctx.step("step", () => "s");
  await ctx.task(broken, 1).catch(() => {});
  await ctx.child(child, true).catch(() => {});
  const parts = [await ctx.task(double, 2), await ctx.child(child, false), await ctx.receive(go)];
  if (round === 0) return ctx.continueAsNew(1);
  return [step, ctx.random(), parts];
});
const one = workflow("one", (ctx, _: string) => ctx.step("step", () => "a plain result"));
const outcome = workflow("outcome", async () => "a plain output");

let t: ServerUnderTest;
let plain: Client;
let sealed: Client;
beforeAll(async () => {
  t = await serverUnderTest();
  const namespaces = createClient(NamespaceService, t.transport());
  await namespaces.createNamespace({ namespace: "shop" });
  await namespaces.updateNamespace({ namespace: "shop", requiresEncryption: true });
  const options = { namespace: "shop", logger: silent };
  const codec = encrypted({ keys: { k: systemPorts.random.bytes(32) }, current: "k" });
  plain = await connect(t.server.url, options);
  sealed = await connect(t.server.url, { ...options, codec });
});
afterAll(async () => {
  await plain.close();
  await sealed.close();
  await t.close();
});

test("what is encrypted passes, and what the engine itself writes", async () => {
  const queues = ["default", "sealed"];
  const worker = sealed.worker({ workflows: [everything, child], tasks: [double, broken], queues });
  await worker.start();
  const run = await sealed.start(everything, 0, { id: "all" });
  await run.signal(go, "1");
  await sealed.get("all").signal(go, "2");
  expect(await run.result()).toMatchObject(["s", expect.any(Number), [4, "child", expect.any(String)]]);
  await sealed.schedules.create({ id: "nightly", workflow: child, input: false, cron: "0 0 1 1 *" });
  await worker.stop();
});

test.each([
  ["a result", one],
  ["an output", outcome],
])("%s of a worker without the codec is refused, and its run is parked", async (_, definition) => {
  const codec = { name: "forgetful", encode: (value: unknown) => text(value), decode: () => "whatever" };
  const forgetful = await connect(t.server.url, { namespace: "shop", logger: silent, codec });
  const worker = forgetful.worker({ workflows: [definition], queues: ["default"] });
  const run = await sealed.start(definition.name, "x");
  await worker.start();
  await expect(run.result()).rejects.toMatchObject({ code: "run_parked", cause: { code: "store_refused" } });
  await forgetful.close();
});

test("a schedule and a query with plain values are refused", async () => {
  const message = "is not encrypted";
  await expect(
    plain.schedules.create({ id: "plain", workflow: child, input: false, cron: "0 0 1 1 *" }),
  ).rejects.toThrow(message);
  await expect(plain.get("all").query(state, "x")).rejects.toThrow(message);
});

function text(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value ?? null));
}
