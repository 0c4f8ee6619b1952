import { signal, update, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import type { Hint, Notifier } from "../../src/ports/notifier.ts";
import { type Fleet, openFleet } from "../lab/fleet.ts";

const go = signal<number>("go");
const wait = workflow("wait", (ctx) => ctx.receive(go));

describe("where hints come by interest", () => {
  test("a client that waits for a result asks for the hints of that run, and no longer when it has it", async () => {
    const { fleet, watched } = fleetByInterest();
    await fleet.worker({ workflows: [wait] });
    const client = fleet.client();
    const runs = await client.startMany([1, 2].map((n) => ({ workflow: wait, options: { id: `w${n}` } })));
    const [one, other] = runs as [(typeof runs)[0], (typeof runs)[0]];
    const result = one.result();
    const twice = one.result();
    expect([...watched]).toEqual([one.runId]);
    await fleet.clock.settle();
    await other.signal(go, 2);
    await one.signal(go, 1);
    expect(await fleet.clock.until(Promise.all([result, twice]))).toEqual([1, 1]);
    expect(watched.size).toBe(0);
  });

  test("one that gives up waiting no longer asks for them", async () => {
    const { fleet, watched } = fleetByInterest();
    const run = await fleet.client().start(wait);
    const result = run.result({ timeout: "1m" });
    expect(watched.size).toBe(1);
    await expect(fleet.clock.until(result)).rejects.toMatchObject({ code: "result_timeout" });
    expect(watched.size).toBe(0);
  });

  test("one that waits for the answer to an update asks for the hints of its run", async () => {
    const add = update<number, number>("add");
    const sum = workflow("sum", async (ctx) => {
      ctx.on(add, (n) => n + 1);
      return ctx.receive(go);
    });
    const { fleet, watched, asked } = fleetByInterest();
    await fleet.worker({ workflows: [sum] });
    const run = await fleet.client().start(sum);
    await fleet.clock.settle();
    expect(await fleet.clock.until(run.update(add, 2))).toBe(3);
    expect(asked).toEqual([run.runId]);
    expect(watched.size).toBe(0);
  });

  test("one that watches a run asks for the hints of it", async () => {
    const { fleet, watched, asked } = fleetByInterest();
    await fleet.worker({ workflows: [wait] });
    const client = fleet.client();
    const run = await client.start(wait);
    await fleet.clock.settle();
    const watching = (async () => {
      for await (const _ of client.watch(run.id));
    })();
    await fleet.clock.settle();
    await run.signal(go, 1);
    await fleet.clock.until(watching);
    expect(new Set(asked)).toEqual(new Set([run.runId]));
    expect(watched.size).toBe(0);
  });
});

/** A fleet whose notifier passes on ends and replies only of runs that somebody has asked for. */
function fleetByInterest(): {
  readonly fleet: Fleet;
  readonly watched: Set<string>;
  /** What was ever asked for. */
  readonly asked: string[];
} {
  const fleet = openFleet();
  const watched = new Set<string>();
  const asked: string[] = [];
  const notifier: Notifier = fleet.notifier;
  const publish = notifier.publish.bind(notifier);
  const wanted = (hint: Hint): boolean => (hint.type !== "ended" && hint.type !== "replied") || watched.has(hint.runId);
  notifier.publish = (hints) => publish(hints.filter(wanted));
  notifier.watch = (runIds) => {
    asked.push(...runIds);
    for (const runId of runIds) watched.add(runId);
    return () => {
      for (const runId of runIds) watched.delete(runId);
    };
  };
  return { fleet, watched, asked };
}
