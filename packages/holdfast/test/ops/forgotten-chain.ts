// A program of its own, because a rejection that nobody handles ends a process. One workflow starts a chain that it forgets
// and that uses ctx too late; another one whose step fails; one a chain that fails and that it looks at later. Prints what became
// of the runs, and what was written down about chains that are never awaited.
import { connect, signal, silentLogger, workflow } from "holdfast";
import { deferred } from "../lab/deferred.ts";

const go = signal("go");
const refused = deferred();
const failed = deferred();

const outside = workflow("outside", async (ctx) => {
  void (async () => {
    // tidy-allow: the mistake that this program makes is to wait for something that is not a ctx operation
    await new Promise((resolve) => setTimeout(resolve, 5));
    try {
      await ctx.step("too late", () => 1);
    } finally {
      refused.resolve();
    }
  })();
  await ctx.receive(go);
  return "not reached";
});

const failing = workflow("failing", async (ctx) => {
  void (async () => {
    try {
      await ctx.step("fails", () => Promise.reject(new Error("nobody looks")), { retry: "none" });
    } finally {
      failed.resolve();
    }
  })();
  await ctx.receive(go);
  return "ended all the same";
});

const innocent = workflow("innocent", async (ctx) => {
  const looked = (async () => {
    await ctx.step("fails", () => Promise.reject(new Error("somebody looks")), { retry: "none" });
  })();
  await ctx.sleep("nap", "100ms");
  return looked.catch(() => "unharmed");
});

const warnings: object[] = [];
const warn = (fields: object, message: string): void => {
  if (message.includes("never awaited it")) warnings.push(fields);
};
const hf = await connect("memory:", { logger: { ...silentLogger, warn } });
const worker = hf.worker({ workflows: [outside, failing, innocent] });
await worker.start();
const parked = await hf.start(outside);
const ended = await hf.start(failing);
await refused.promise;
await parked.signal(go);
await failed.promise;
await ended.signal(go);
const results = [await hf.run(innocent), await ended.result()];
await worker.drain();
process.stdout.write(JSON.stringify([...results, (await parked.describe()).status, warnings]));
await hf.close();
