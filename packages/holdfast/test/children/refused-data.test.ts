import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type Context, signal, update, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const odd: StandardSchemaV1<number, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => ((value as number) % 2 === 1 ? { value: value as number } : { issues: [{ message: "even" }] }),
  },
};
const later: StandardSchemaV1<number, number> = {
  "~standard": { version: 1, vendor: "test", validate: async (value) => ({ value: value as number }) },
};

const note = signal("note", odd);
const add = update<number, number>("add", odd);
const free = signal<unknown>("free");
const kid = workflow({ name: "kid", input: odd }, async (_ctx, n) => n);
const slow = workflow({ name: "slow", input: later }, async (_ctx, n) => n);
const any = workflow("any", async (_ctx, value: unknown) => value);

async function outcome(act: (ctx: Context) => Promise<unknown>): Promise<unknown> {
  const fleet = openFleet();
  // The promise is not awaited at once: nothing may be thrown, and nothing is unhandled.
  const main = workflow("main", async (ctx) => {
    const asked = act(ctx);
    await ctx.sleep("nap", "1s");
    return asked.catch((error: { code: string }) => error.code);
  });
  await fleet.worker({ workflows: [main, kid, slow, any] });
  return fleet.result(await fleet.client().start(main));
}

describe("data that is refused rejects the promise of the op", () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  const cases: Record<string, readonly [(ctx: Context) => Promise<unknown>, string]> = {
    "the input of a child": [(ctx) => ctx.child(kid, 2), "invalid_input"],
    "the input of a child with a handle": [(ctx) => ctx.startChild(kid, 2), "invalid_input"],
    "the input of a child whose schema is asynchronous": [(ctx) => ctx.child(slow, 1), "invalid_input"],
    "an input that cannot be stored": [(ctx) => ctx.child(any, circular), "unserializable_value"],
    "the payload of a signal": [(ctx) => ctx.signal("nobody", note, 2), "invalid_signal"],
    "a payload that cannot be stored": [(ctx) => ctx.signal("nobody", free, circular), "unserializable_value"],
    "the reason of a cancel": [(ctx) => ctx.cancel("nobody", "x".repeat(100_000)), "invalid_option"],
  };
  for (const [what, [act, code]] of Object.entries(cases))
    test(what, async () => expect(await outcome(act)).toBe(code));

  test("what is sent with the handle of a child", async () => {
    const acts = async (ctx: Context): Promise<unknown> => {
      const child = await ctx.startChild(any, 1);
      const sent = [child.update(add, 2), child.signal(note, 2), child.cancel("x".repeat(100_000))];
      const settled = await Promise.allSettled(sent);
      return settled.map((one) => (one.status === "rejected" ? one.reason.code : one.status));
    };
    expect(await outcome(acts)).toEqual(["invalid_input", "invalid_signal", "invalid_option"]);
  });

  test("Promise.allSettled sees one bad item among good ones", async () => {
    const act = async (ctx: Context): Promise<unknown> =>
      (await Promise.allSettled([1, 2, 3].map((n) => ctx.child(kid, n)))).map(({ status }) => status);
    expect(await outcome(act)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });
});

test("misuse throws at once", async () => {
  const thrown = (act: () => unknown): string => {
    try {
      act();
    } catch (error) {
      return (error as { code: string }).code;
    }
    return "nothing";
  };
  const act = async (ctx: Context): Promise<unknown> => [
    thrown(() => ctx.child("kid" as never)),
    thrown(() => ctx.child(kid, 1, { idd: "x" } as never)),
    thrown(() => ctx.signal("nobody", kid as never)),
  ];
  expect(await outcome(act)).toEqual(["invalid_option", "invalid_option", "invalid_option"]);
});
