import { signal, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { ahead, openFleet } from "../lab/fleet.ts";

const note = signal<number>("note");

// What the code does first is a command: had it ever been called, history would begin with it.
const careful = workflow("careful", async (ctx) => {
  await ctx.sleep("first", "1 hour");
});

describe("replay of a run whose code was never called", () => {
  test("gives the cancellation that ended it", async () => {
    const fleet = openFleet();
    const run = await fleet.client().start(careful, undefined, { id: "c", delay: "1s" });
    await run.signal(note, 1);
    await run.cancel("never mind");
    await fleet.worker({ workflows: [careful] });
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    const history = await run.history();
    expect(history.map(({ type, neverCalled }) => [type, neverCalled])).toEqual([
      ["run_started", undefined],
      ["signal_received", undefined],
      ["cancel_requested", true],
      ["run_canceled", undefined],
    ]);
    const ended = {
      error: expect.objectContaining({ code: "run_canceled", data: expect.objectContaining({ reason: "never mind" }) }),
    };
    expect(await replay(careful, history)).toEqual(ended);
    expect(await replay(careful, JSON.parse(JSON.stringify(history)))).toEqual(ended);
  });

  test("gives the timeout that ended it, whether a worker has seen to that or a sweep", async () => {
    const fleet = openFleet();
    // A client whose clock is right refuses a start after the timeout.
    const client = fleet.client({ clock: ahead(fleet.clock, 1) });
    const late = { startAt: new Date(fleet.clock.now() + 3_600_000), timeout: "1 minute" } as const;
    const run = await client.start(careful, undefined, { id: "t", ...late });
    await fleet.worker({ workflows: [careful], lease: "30s" });
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_timed_out" });
    const ended = { error: expect.objectContaining({ code: "run_timed_out" }) };
    const [start, ...rest] = await run.history();
    expect(rest.map(({ type }) => type)).toEqual(["deadline_reached", "run_timed_out"]);
    expect(await replay(careful, [start as NonNullable<typeof start>, ...rest])).toEqual(ended);

    const unserved = workflow("unserved", (ctx) => ctx.sleep("first", "1 hour"));
    const swept = await client.start(unserved, undefined, { id: "s", ...late });
    await fleet.clock.advance("2 hours");
    await expect(fleet.result(swept)).rejects.toMatchObject({ code: "run_timed_out" });
    const history = await swept.history();
    expect(history.map(({ type }) => type)).toEqual(["run_started", "run_timed_out"]);
    expect(await replay(unserved, history)).toEqual(ended);
  });

  test("that was canceled while its code waited is replayed through its code", async () => {
    const cleaned: string[] = [];
    const waits = workflow("waits", async (ctx) => {
      await ctx.receive(note).finally(() => cleaned.push("up"));
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [waits] });
    const run = await fleet.client().start(waits);
    await fleet.clock.settle();
    await run.cancel();
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect(await replay(waits, await run.history())).toMatchObject({ error: { code: "run_canceled" } });
    expect(cleaned).toEqual(["up", "up"]);
  });
});
