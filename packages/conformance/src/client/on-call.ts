import { type Client, signal, type Why, workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientSuite } from "./client-suite.ts";
import { type Gate, gate } from "./gate.ts";

const approve = signal<{ by: string }>("approve");
const never = signal<number>("never");

/** A step function that reports when it begins, and ends when `until` resolves. */
function lasting(begun: Gate, until: Promise<void>): () => Promise<void> {
  return () => {
    begun.open();
    return until;
  };
}

/** Asks until the answer is the wanted one; time is counted in round trips to the store. */
async function whyUntil(client: Client, id: string, wanted: (why: Why) => boolean): Promise<Why> {
  for (;;) {
    const why = await client.why(id);
    if (wanted(why)) return why;
  }
}

function opsOf(steps: readonly { readonly op: string; readonly kind: string; readonly status: string }[]): string[] {
  return steps.map(({ op, kind, status }) => `${kind} ${op} ${status}`);
}

/** A step that fails and is retried in an hour; optionally beside a step that runs until `beside` resolves. */
function failing(name: string, beside?: Promise<void>) {
  const begun = gate();
  const definition = workflow(name, async (ctx) => {
    const charge = ctx.step(
      "charge",
      () => {
        throw new Error("card refused");
      },
      { retry: { attempts: 5, fixed: "1 hour" } },
    );
    const other = beside && ctx.step("other", lasting(begun, beside));
    await Promise.all([charge, other]);
  });
  return { definition, begun: begun.opened };
}

const CHARGE_BACKOFF = {
  kind: "backoff",
  op: "charge",
  attempt: 1,
  at: expect.any(Date),
  error: expect.objectContaining({ message: "card refused" }),
};

export const onCall: ClientSuite = {
  noun: "that is asked what a run does",
  cases: {
    "names the step that runs in this process, from its first moment on": async (t) => {
      const client = await t.connect();
      const [begun, done] = [gate(), gate()];
      const slow = workflow("slow", (ctx) => ctx.step("charge", lasting(begun, done.opened)));
      await client.worker({ workflows: [slow], name: "orders" }).start();
      const run = await client.start(slow, undefined, { id: "r" });
      await begun.opened;
      expect(await run.steps()).toMatchObject([{ op: "charge", kind: "step", status: "running", attempts: 1 }]);
      const why = await client.why("r");
      expect(why.causes).toEqual([
        { kind: "step", op: "charge", worker: "orders", since: expect.any(Date), attempt: 1, attempts: 3 },
      ]);
      expect(why.reason).toMatch(/^Worker orders is working on it; .* Step "charge" has been running for /);
      done.open();
      await run.result();
      expect(await run.steps()).toMatchObject([{ op: "charge", status: "completed" }]);
    },

    "shows a step between two attempts of a run that sleeps until the next": async (t) => {
      const client = await t.connect();
      const { definition } = failing("sleeps");
      await client.worker({ workflows: [definition] }).start();
      const run = await client.start(definition, undefined, { id: "r" });
      const why = await whyUntil(client, "r", ({ status }) => status === "sleeping");
      expect(why.causes).toEqual([{ ...CHARGE_BACKOFF, attempts: 5 }]);
      expect(why.reason).toMatch(
        /^It waits for "charge", .* Step "charge" has failed once of at most 5 times, with Error: card refused; its next attempt is due at \S+Z, in (1h|59m .*)\.$/,
      );
      expect(await run.steps()).toMatchObject([{ op: "charge", status: "retrying", attempts: 1, dueAt: why.dueAt }]);
    },

    "shows a step between two attempts of a run that is held for another step": async (t) => {
      const client = await t.connect();
      const done = gate();
      const { definition, begun } = failing("held", done.opened);
      await client.worker({ workflows: [definition], name: "orders" }).start();
      await client.start(definition, undefined, { id: "r" });
      await begun;
      const why = await whyUntil(client, "r", ({ causes }) => causes.length > 1);
      expect(why.causes).toEqual([
        expect.objectContaining({ kind: "step", op: "other", worker: "orders" }),
        { ...CHARGE_BACKOFF, attempts: 5 },
      ]);
      expect(why.reason).toMatch(
        /Step "other" has been running for .* Step "charge" has failed once of at most 5 times, /,
      );
      done.open();
    },

    "shows a step that ran when its run was canceled as canceled": async (t) => {
      const client = await t.connect();
      const begun = gate();
      const plain = workflow("plain", (ctx) => ctx.step("charge", lasting(begun, new Promise(() => {}))));
      await client.worker({ workflows: [plain] }).start();
      const run = await client.start(plain);
      await begun.opened;
      await run.cancel("enough");
      await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
      expect(await run.steps()).toMatchObject([
        { op: "charge", kind: "step", status: "canceled", attempts: 1, startedAt: expect.any(Date) },
      ]);
      expect((await run.history()).map(({ type }) => type)).toEqual([
        "run_started",
        "step_started",
        "cancel_requested",
        "run_canceled",
      ]);
    },

    "shows what a race has given up as canceled while the run goes on": async (t) => {
      const client = await t.connect();
      const [begun, done] = [gate(), gate()];
      const races = workflow("races", async (ctx) => {
        await ctx.race({
          first: (branch) => branch.step("first", () => 1),
          never: (branch) => branch.receive(never, { timeout: "1 day" }),
          later: (branch) => branch.sleep("later", "1 day"),
        });
        await ctx.receive(approve);
        await ctx.step("last", lasting(begun, done.opened));
      });
      await client.worker({ workflows: [races] }).start();
      const run = await client.start(races);
      while ((await run.status()) !== "waiting") await client.count();
      const before = ["signal receive:never canceled", "timer later canceled", "step first completed"];
      expect(opsOf(await run.steps())).toEqual([...before, "signal receive:approve waiting"]);
      await run.signal(approve, { by: "ann" });
      await begun.opened;
      expect(opsOf(await run.steps())).toEqual([...before, "signal receive:approve completed", "step last running"]);
      done.open();
      await run.result();
      expect(opsOf(await run.steps())).toEqual([...before, "signal receive:approve completed", "step last completed"]);
    },

    "calls receives by their signal, whether they wait, were answered, or have timed out": async (t) => {
      const client = await t.connect();
      const receives = workflow("receives", async (ctx) => {
        const timedOut = await ctx.receive(approve, { timeout: "1ms" });
        const answered = await ctx.receive(approve, { timeout: "1 day" });
        const again = await ctx.receive(approve);
        return [timedOut, answered, again];
      });
      await client.worker({ workflows: [receives] }).start();
      const run = await client.start(receives, undefined, { id: "r" });
      await whyUntil(client, "r", ({ waitingFor }) => waitingFor.includes("receive:approve#2"));
      const [first, second] = await run.steps();
      expect([first, second]).toMatchObject([
        { op: "receive:approve", kind: "signal", status: "completed" },
        { op: "receive:approve#2", kind: "signal", status: "waiting", dueAt: expect.any(Date) },
      ]);
      expect(first).not.toHaveProperty("output");
      await run.signal(approve, { by: "ann" });
      const why = await whyUntil(client, "r", ({ waitingFor }) => waitingFor.includes("receive:approve#3"));
      expect(why.causes).toEqual([{ kind: "signal", op: "receive:approve#3" }]);
      expect(opsOf(await run.steps()).at(-1)).toBe("signal receive:approve#3 waiting");
      await run.signal(approve, { by: "bob" });
      expect(await run.result()).toEqual([undefined, { by: "ann" }, { by: "bob" }]);
      expect((await run.steps()).map(({ op, status, output }) => [op, status, output])).toEqual([
        ["receive:approve", "completed", undefined],
        ["receive:approve#2", "completed", { by: "ann" }],
        ["receive:approve#3", "completed", { by: "bob" }],
      ]);
    },

    "shows a cancel that nobody has taken in, and what to do about it": async (t) => {
      const client = await t.connect();
      const stuck = workflow("stuck", () => new Promise<void>(() => {}));
      await client.worker({ workflows: [stuck] }).start();
      const parked = await client.start(stuck, undefined, { id: "parked" });
      await whyUntil(client, "parked", ({ status }) => status === "parked");
      expect(await client.why("parked")).toMatchObject({ cancelRequested: null, causes: [{ kind: "parked" }] });
      await parked.cancel("too late");
      const cancelRequested = { at: expect.any(Date), reason: "too late" };
      expect(await client.why("parked")).toMatchObject({ status: "parked", cancelRequested });
      expect((await client.why("parked")).reason).toMatch(
        /^It is parked: .* A cancel was requested at \S+Z \("too late"\); it takes effect when the run is resumed. Call handle\.resume\(\), or handle\.terminate\(\) to end the run as it is\.$/s,
      );

      const unserved = await client.start("unserved", undefined, { id: "unserved" });
      await unserved.cancel();
      const why = await client.why("unserved");
      expect(why).toMatchObject({ cancelRequested: { reason: null }, causes: [{ kind: "no_worker" }] });
      expect(why.reason).toMatch(
        /^It is due, but no live worker offers unserved@1 on queue "default"\. A cancel was requested at \S+Z; it takes effect when a worker claims the run; handle\.terminate\(\) ends the run as it is\.$/,
      );
    },
  },
};
