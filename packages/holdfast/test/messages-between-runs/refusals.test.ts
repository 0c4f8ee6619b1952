import { query, signal, update, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const go = signal("go");
const join = update<string, number>("join");
const broken = query<number>("broken");

describe("what a caller is told", () => {
  test("the error of another run that was named by its id has no empty run id in its text", async () => {
    const fleet = openFleet();
    const failer = workflow("failer", () => Promise.reject(new Error("no luck")));
    const main = workflow("main", (ctx) => ctx.resultOf("f").catch((error: Error) => error.message));
    await fleet.worker({ workflows: [main, failer] });
    await fleet.client().start(failer, undefined, { id: "f" });
    const text = 'Run "f" of workflow "failer" failed: Error: no luck';
    expect(await fleet.result(await fleet.client().start(main))).toBe(text);
  });

  test("a target that is no id is named in plain words", async () => {
    const fleet = openFleet();
    const main = workflow("main", async (ctx) => {
      const texts: string[] = [];
      for (const to of [undefined, { namespace: "default" }, ""])
        try {
          await ctx.signal(to as string, go);
        } catch (error) {
          texts.push((error as Error).message);
        }
      return texts;
    });
    await fleet.worker({ workflows: [main] });
    const texts = await fleet.result(await fleet.client().start(main));
    expect(texts[0]).toBe("ctx.signal: the run's id is undefined, not a string.");
    expect(texts[1]).toBe("ctx.signal: the run's id is undefined, not a string.");
    expect(texts[2]).toContain(`ctx.signal: the run's id ""`);
  });

  test("an unknown option of a call that starts and sends: its own options are listed", async () => {
    const client = openFleet().client();
    const room = workflow("room", async () => 1);
    const odd = { id: "r", colour: 1 } as never;
    await expect(client.updateWithStart(room, undefined, join, "ann", odd)).rejects.toThrow(/updateId, updateTimeout/);
    await expect(client.signalWithStart(room, undefined, go, undefined, odd)).rejects.toThrow(/signalId/);
  });

  test("a query that fails has the same cause, whichever process answers", async () => {
    const fleet = openFleet();
    const w = workflow("w", async (ctx) => {
      ctx.on(broken, () => {
        throw new Error("out of order");
      });
      await ctx.receive(go);
    });
    const client = fleet.client();
    await fleet.worker({ workflows: [w] });
    const run = await client.start(w, undefined, { id: "r" });
    await fleet.clock.advance("1s");
    const asked = [run, fleet.client().get("r")].map((handle) =>
      handle.query(broken).catch((error: { code: string; cause: { code: string; message: string } }) => {
        return [error.code, error.cause.code, error.cause.message];
      }),
    );
    await fleet.clock.advance("5s");
    for (const told of await Promise.all(asked))
      expect(told).toEqual(["query_failed", "application_error", "out of order"]);
  });

  test("the result of a child cannot be awaited inside a step", async () => {
    const fleet = openFleet();
    const kid = workflow("kid", (ctx) => ctx.receive(go));
    const main = workflow("main", async (ctx) => {
      const child = await ctx.startChild(kid);
      const wait = () => child.result();
      return ctx.step("wait", wait, { retry: "none" }).catch((error: Error) => error.message);
    });
    await fleet.worker({ workflows: [main, kid] });
    expect(await fleet.result(await fleet.client().start(main))).toContain('child.result("kid")');
  });
});
