import { type Context, HoldfastError, signal, task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const go = signal("go");
const word = signal<string>("word");

test("a fork goes on once it has the lock, and turns that are taken back then are repeated as ever", async () => {
  const fleet = openFleet();
  const mailed: string[] = [];
  const mail = task("mail", (who: string) => void mailed.push(who));
  const job = workflow("job", async (ctx: Context) => {
    // So that the turns take a while to repeat.
    for (let i = 0; i < 50; i++) await ctx.step("before", () => i);
    return ctx.withLock("room", async () => {
      await ctx.sleep("cut", "1ms");
      await ctx.receive(go);
      const sent = ctx.task(mail, ctx.info.id);
      const heard = await ctx.receive(word, { timeout: "0ms" });
      if (heard === undefined) throw new Error("too early");
      await sent;
      return heard;
    });
  });
  const client = fleet.client();
  await fleet.worker({ workflows: [job], tasks: [mail] });
  const origin = await client.start(job, undefined, { id: "origin" });
  await fleet.clock.advance("1s");
  const fork = await fleet.clock.until(origin.fork({ before: "cut", id: "fork" }));
  await fleet.clock.advance("1s");
  // A signal that comes before the end: what the code did since it looked is taken back, and what it did before is not durable yet.
  let refused = "";
  fleet.store.fault = (moment, method, params) => {
    const sent = JSON.stringify(params);
    const ends = sent.includes('"end"') && sent.includes(fork.runId);
    if (moment !== "before" || method !== "runs.commit" || !ends) return undefined;
    fleet.store.fault = undefined;
    refused = sent;
    void fork.signal(word, "wait");
    return new HoldfastError("store_unavailable", "not now");
  };
  await fork.signal(go);
  await fleet.clock.advance("10 minutes");
  expect({ refused, mailed }).toEqual({ refused: "", mailed: [] });
  expect(await fork.status()).not.toBe("failed");
  await origin.signal(word, "first");
  await origin.signal(go);
  expect(await fleet.result(origin)).toBe("first");
  expect(await fleet.result(fork)).toBe("wait");
  expect(refused).toContain("task_scheduled");
  expect(mailed).toEqual(["origin", "fork"]);
  expect(fleet.store.state.tasks.size + fleet.store.state.locks.size).toBe(0);
});
