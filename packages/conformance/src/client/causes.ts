import { type Cause, type CauseKind, type Client, signal, task, update, type Why, workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientFixture } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";
import { gate } from "./gate.ts";

const HOUR = { retry: { attempts: 5, fixed: "1 hour" } } as const;
const never = signal("never");

/** Asks until the run waits for that, first of all. */
async function whyOf(client: Client, kind: CauseKind, id = "r"): Promise<Why & { readonly first: Cause }> {
  for (;;) {
    const why = await client.why(id);
    const [first] = why.causes;
    if (first?.kind === kind) return { ...why, first };
  }
}

/** What a run of the function waits for, once it is that. */
async function waitingFor(
  t: ClientFixture,
  kind: CauseKind,
  run: Parameters<typeof workflow>[1],
): Promise<Why & { readonly first: Cause }> {
  const client = await t.connect();
  const definition = workflow("waits", run);
  await client.worker({ workflows: [definition], name: "one" }).start();
  await client.start(definition, undefined, { id: "r" });
  return whyOf(client, kind);
}

/** Every cause, as data and in words. Those of silent workers need time to pass: the tests of leases have them. */
export const causes: ClientSuite = {
  noun: "that is asked why a run waits",
  cases: {
    "names a timer, and when it is due": async (t) => {
      const { first, reason } = await waitingFor(t, "timer", (ctx) => ctx.sleep("nap", "1 hour"));
      expect(first).toEqual({ kind: "timer", op: "nap", at: expect.any(Date), since: expect.any(Date) });
      expect(reason).toBe(`It waits for "nap", at the latest until ${first?.at?.toISOString()}.`);
    },

    "names a signal": async (t) => {
      const { first, reason } = await waitingFor(t, "signal", (ctx) => ctx.receive(never));
      expect(first).toEqual({ kind: "signal", op: "receive:never" });
      expect(reason).toBe('It waits for signal "never"; no timer is set.');
    },

    "names an update whose handler has not finished": async (t) => {
      const client = await t.connect();
      const slow = update<undefined, void>("slow");
      const definition = workflow("talks", async (ctx) => {
        ctx.on(slow, () => ctx.sleep("nap", "1 hour"));
        await ctx.receive(never);
      });
      await client.worker({ workflows: [definition] }).start();
      const run = await client.start(definition, undefined, { id: "r" });
      await whyOf(client, "signal");
      void run.update(slow, undefined).catch(() => {});
      for (;;) {
        const why = await client.why("r");
        const found = why.causes.find(({ kind }) => kind === "update");
        if (!found) continue;
        expect(found).toMatchObject({ kind: "update", op: expect.stringMatching(/^update:slow/) });
        expect(why.reason).toMatch(/update "slow".* has not finished/);
        break;
      }
    },

    "names a condition": async (t) => {
      const { first, reason } = await waitingFor(t, "condition", (ctx) => ctx.until(() => false));
      expect(first).toMatchObject({ kind: "condition", op: expect.stringMatching(/^until/) });
      expect(reason).toMatch(/^It waits for a condition/);
    },

    "names a task, its place in line, and the label that no worker has": async (t) => {
      const render = task({ name: "render", requires: ["gpu"] }, () => {});
      const { first, reason } = await waitingFor(t, "task", (ctx) => ctx.task(render));
      expect(first).toMatchObject({ kind: "task", op: "render", position: 1, requires: ["gpu"], queue: "default" });
      expect(reason).toMatch(/Task "render" waits on queue "default", 1st in line; no live worker/);
    },

    "names a child, and what that waits for": async (t) => {
      const client = await t.connect();
      const child = workflow("child", (ctx) => ctx.sleep("nap", "1 hour"));
      const parent = workflow("parent", (ctx) => ctx.child(child, undefined, { id: "c" }));
      await client.worker({ workflows: [parent, child] }).start();
      await client.start(parent, undefined, { id: "r" });
      for (;;) {
        const { first, reason } = await whyOf(client, "child");
        if (first.cause?.kind !== "timer") continue;
        expect(first).toMatchObject({ run: { id: "c" }, cause: { kind: "timer", op: "nap" } });
        expect(reason).toMatch(/waits for timer "nap"\.$/);
        break;
      }
    },

    "names a lock, its holders and the place in line": async (t) => {
      const client = await t.connect();
      const locks = workflow("locks", (ctx) => ctx.withLock("door", () => ctx.receive(never)));
      await client.worker({ workflows: [locks] }).start();
      await client.start(locks, undefined, { id: "first" });
      await whyOf(client, "signal", "first");
      await client.start(locks, undefined, { id: "r" });
      const { first, reason } = await whyOf(client, "lock");
      expect(first).toMatchObject({
        op: "lock:door",
        position: 1,
        holders: [{ id: "first" }],
        cause: { kind: "signal" },
      });
      expect(reason).toMatch(/Lock "door" is held by run "first"\. This run is number 1 in line\./);
    },

    "names the limit of a queue, and who has its places": async (t) => {
      const client = await t.connect();
      const limited = workflow({ name: "limited", queue: "narrow" }, (ctx) => ctx.receive(never));
      await client.queues.set("narrow", { concurrency: 1 });
      await client.worker({ workflows: [limited] }).start();
      await client.start(limited, undefined, { id: "first" });
      await whyOf(client, "signal", "first");
      await client.start(limited, undefined, { id: "r" });
      for (;;) {
        const { first, reason } = await whyOf(client, "limit");
        if (first.queue === undefined) continue;
        expect(first).toMatchObject({
          queue: "narrow",
          limit: { of: "queue", concurrency: 1 },
          holders: [{ id: "first" }],
        });
        expect(reason).toContain('It waits for the only place of queue "narrow": it is taken, by run "first".');
        break;
      }
    },

    "names a version that no live worker offers": async (t) => {
      const client = await t.connect();
      await client.start("nobody", undefined, { id: "r" });
      const { first, reason } = await whyOf(client, "no_worker");
      expect(first).toEqual({ kind: "no_worker", since: expect.any(Date) });
      expect(reason).toBe('It is due, but no live worker offers nobody@1 on queue "default".');
    },

    "names who has paused it": async (t) => {
      const client = await t.connect();
      const run = await client.start("nobody", undefined, { id: "r" });
      await run.pause({ by: "ana", reason: "a look" });
      const { first, reason } = await whyOf(client, "paused");
      expect(first).toMatchObject({ by: "ana", reason: "a look", since: expect.any(Date) });
      expect(reason).toMatch(/ana/);
    },

    "says why it is parked": async (t) => {
      const { first, reason } = await waitingFor(t, "parked", () => new Promise(() => {}));
      expect(first).toMatchObject({ since: expect.any(Date), error: { code: expect.any(String) } });
      expect(reason).toMatch(/^It is parked: /);
    },

    "counts the attempts of a step, and says when the next one is due": async (t) => {
      const { first, reason } = await waitingFor(t, "backoff", (ctx) =>
        ctx.step(
          "charge",
          () => {
            throw new Error("card refused");
          },
          HOUR,
        ),
      );
      expect(first).toMatchObject({ op: "charge", attempt: 1, attempts: 5, error: { message: "card refused" } });
      expect(reason).toMatch(
        /failed once of at most 5 times, with Error: card refused; its next attempt is due at \S+Z/,
      );
    },

    "counts the attempts of a task, and says when the next one is due": async (t) => {
      const client = await t.connect();
      const mail = task({ name: "mail", ...HOUR }, () => {
        throw new Error("no line");
      });
      const mails = workflow("mails", (ctx) => ctx.task(mail));
      await client.worker({ workflows: [mails], tasks: [mail] }).start();
      await client.start(mails, undefined, { id: "r" });
      const { first, reason } = await whyOf(client, "backoff");
      expect(first).toMatchObject({ op: "mail", attempt: 1, attempts: 5, error: { message: "no line" } });
      expect(reason).toMatch(
        /Task "mail" has failed once of at most 5 times, with Error: no line; its next attempt is due/,
      );
    },

    "names the time of a delayed start": async (t) => {
      const client = await t.connect();
      await client.start("nobody", undefined, { id: "r", delay: "1 hour" });
      const { first, reason } = await whyOf(client, "start_delay");
      expect(first).toEqual({ kind: "start_delay", at: expect.any(Date) });
      expect(reason).toMatch(/\d{4}-\d\d-\d\dT/);
    },

    "names the step that runs, since when, and where": async (t) => {
      const done = gate();
      const { first, reason } = await waitingFor(t, "step", (ctx) => ctx.step("charge", () => done.opened));
      expect(first).toMatchObject({ worker: "one", since: expect.any(Date) });
      expect(reason).toMatch(/^Worker one is working on it; /);
      done.open();
    },

    "says that it has ended": async (t) => {
      const { first, reason } = await waitingFor(t, "ended", async () => {});
      expect(first).toEqual({ kind: "ended", since: expect.any(Date) });
      expect(reason).toBe("It is completed; it waits for nothing.");
    },
  },
};
