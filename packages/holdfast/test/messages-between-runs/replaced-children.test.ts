import { signal, update, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { openFleet } from "../lab/fleet.ts";
import { openWorld } from "../lab/world.ts";

const say = signal<string>("say");
const put = update<string, string>("put");

const kid = workflow("kid", async (ctx) => {
  ctx.on(put, async (word) => {
    await ctx.sleep("think", "1h");
    return `${word} for ${ctx.info.runId}`;
  });
  return [await ctx.receive(say), ctx.info.runId];
});

describe("an update that a child was asked for, when the run of its parent fails and is retried", () => {
  async function family(onParentClose: "cancel" | "abandon", retried: "at once" | "later") {
    let failing = true;
    const parent = workflow("parent", async (ctx) => {
      const child = await ctx.startChild(kid, undefined, { onParentClose });
      const work = ctx.step("work", () => (failing ? Promise.reject(new Error("declined")) : "done"), {
        retry: "none",
      });
      const [answer, done] = await Promise.all([child.update(put, "hello"), work]);
      await child.signal(say, "bye");
      return [answer, done, await child.result()];
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [parent, kid] });
    const run = await fleet.client().start(parent);
    await fleet.clock.settle();
    if (retried === "later") await fleet.clock.advance("2h");
    expect(await run.status()).toBe("failed");
    failing = false;
    await run.retry();
    const output = await fleet.result(run);
    const history = await run.history();
    expect(await replay(parent, history)).toEqual({ output });
    const runs = history.filter(({ type }) => type === "child_started").map(({ child }) => child?.runId);
    const sent = history.filter(({ op }) => op === "ask:put").map(({ type, to }) => [type, to?.runId]);
    return { output, runs, sent };
  }

  test("is answered by the child that takes the place of the one that was canceled", async () => {
    for (const moment of ["at once", "later"] as const) {
      const { output, runs, sent } = await family("cancel", moment);
      const newest = runs.at(-1);
      expect(runs).toHaveLength(2);
      expect(output).toEqual([`hello for ${newest}`, "done", ["bye", newest]]);
      expect(sent.at(-1)).toEqual(["message_sent", newest]);
    }
  });

  test("is answered once by the child itself, if that was left alone", async () => {
    for (const moment of ["at once", "later"] as const) {
      const { output, runs, sent } = await family("abandon", moment);
      expect(runs).toHaveLength(1);
      expect(output).toEqual([`hello for ${runs[0]}`, "done", ["bye", runs[0]]]);
      expect(sent).toEqual([["message_sent", runs[0]]]);
    }
  });
});

test("the answer of a child that was replaced comes too late to count", async () => {
  let failing = true;
  const parent = workflow("parent", async (ctx) => {
    const child = await ctx.startChild(kid);
    const work = ctx.step("work", () => (failing ? Promise.reject(new Error("declined")) : 1), { retry: "none" });
    return Promise.all([child.update(put, "hello"), work]);
  });
  const world = openWorld();
  const replaced = deferred();
  let held = 0;
  const client = world.client({
    hooks: {
      "inbox.deliver": async ({ messages }, call) => {
        if (messages.some(({ kind }) => kind === "reply_failed")) {
          held += 1;
          await replaced.promise;
        }
        return call();
      },
    },
  });
  await world.worker(client, { workflows: [parent, kid] });
  const run = await client.start(parent);
  await world.clock.settle();
  expect(await run.status()).toBe("failed");
  failing = false;
  await run.retry();
  await world.clock.advance("1m");
  const runs = async () =>
    (await run.history()).flatMap(({ type, child }) => (type === "child_started" ? [child?.runId] : []));
  expect(await runs()).toHaveLength(2);
  expect(held).toBeGreaterThan(0);
  replaced.resolve();
  await world.clock.advance("1m");
  expect(await run.status()).toBe("waiting");
  const output = [`hello for ${(await runs()).at(-1)}`, 1];
  expect(await world.result(run)).toEqual(output);
  expect(await replay(parent, await run.history())).toEqual({ output });
});
