import { type ChildHandle, type Context, signal, update, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const say = signal<string>("say");
const put = update<string, string>("put");

const kid = workflow("kid", async (ctx) => {
  let told = "nothing";
  ctx.on(put, async (word) => {
    await ctx.sleep("think", "1h");
    told = word;
    return `${word} for ${ctx.info.runId}`;
  });
  const word = await ctx.receive(say, { timeout: "1 day" });
  return [word, told, ctx.info.runId];
});

const SENDING: Readonly<
  Record<string, readonly [op: string, send: (child: ChildHandle, ctx: Context) => Promise<unknown>]>
> = {
  signal: ["signal:say", (child) => child.signal(say, "hello")],
  update: ["ask:put", (child) => child.update(put, "hello")],
  cancel: ["cancel:", (child) => child.cancel("enough")],
  "wait for the result": ["result:", (child, ctx) => ctx.resultOf(child)],
};

describe("a fork whose cut falls behind the start of a child and before a message to its handle", () => {
  test.each(Object.keys(SENDING))("sends it to the child that it starts itself: a %s", async (name) => {
    const [prefix, send] = SENDING[name] as (typeof SENDING)[string];
    const parent = workflow("parent", async (ctx) => {
      const child = await ctx.startChild(kid);
      const [answer, result] = await Promise.all([
        send(child, ctx),
        child.result().catch(({ code }: { code: string }) => code),
      ]);
      return { answer, result };
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [parent, kid] });
    const run = await fleet.client().start(parent);
    const output = await fleet.result(run);
    const history = await run.history();
    const started = history.find(({ type }) => type === "child_started");
    const sent = history.find(({ op }) => op?.startsWith(prefix));
    const theirs = started?.child?.runId as string;

    const fork = await run.fork({ before: 2 });
    expect(started?.seq).toBe(1);
    const again = await fleet.result(fork);
    const events = await fork.history();
    const own = events.findLast(({ type }) => type === "child_started")?.child?.runId as string;
    expect(own).not.toBe(theirs);
    expect(JSON.stringify(again)).toBe(JSON.stringify(output).replaceAll(theirs, own));
    expect(events.find(({ op }) => op === sent?.op)).toMatchObject({ type: "message_sent", to: { runId: own } });
    expect(await replay(parent, events)).toEqual({ output: again });
    const messages = (await fleet.client().get({ runId: theirs }).history()).filter(({ messageId }) => messageId);
    expect(messages.length).toBeLessThanOrEqual(1);
  });

  test("is told that there is no such run if the child's outcome was decided, and so it is never started", async () => {
    const parent = workflow("parent", async (ctx) => {
      const child = await ctx.startChild(kid);
      const sent = child.signal(say, "hello").catch(({ code }: { code: string }) => code);
      return [await sent, await child.result()];
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [parent, kid] });
    const run = await fleet.client().start(parent);
    await fleet.result(run);
    const fork = await run.fork({ before: 2, edit: { kid: { result: "decided" } } });
    const output = ["run_not_found", "decided"];
    expect(await fleet.result(fork)).toEqual(output);
    expect(await replay(parent, await fork.history())).toEqual({ output });
  });
});
