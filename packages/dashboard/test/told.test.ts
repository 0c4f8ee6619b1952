/** What lists, the overview and the run page say of runs that failed or wait: in words for somebody on call, and redacted. */
import { connect, NonRetryableError, signal, silentLogger, workflow } from "holdfast";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { dashboard } from "../src/index.ts";
import { get } from "./asking.ts";

const go = signal("go");
const declined = (message: string, code?: string) => Object.assign(new Error(message), code ? { code } : {});
const pay = workflow("pay", async (ctx, message: string) => {
  await ctx.step("reserve", () => 1, {
    compensate: () => {
      throw new NonRetryableError("the shelf is locked");
    },
  });
  await ctx.step(
    "charge",
    () => Promise.reject(declined(message, message === "no money" ? "CARD_DECLINED" : undefined)),
    {
      retry: { attempts: 2, fixed: "1ms" },
    },
  );
});
const wait = workflow("wait", async (ctx) => ctx.receive(go));
const done = workflow("done", async () => 1);
const parent = workflow("parent", async (ctx, id: string | null) =>
  ctx.child(pay, "no money", id === null ? {} : { id }),
);
const grandparent = workflow("grandparent", async (ctx) => {
  await ctx.child(parent, "pay-of-parent").catch((error: unknown) => {
    throw new Error("the shop is closed", { cause: error });
  });
});

const hf = await connect("memory:", { logger: silentLogger });
const board = dashboard(hf, { auth: "open" });

async function settled(id: string, status: string): Promise<void> {
  await vi.waitFor(async () => expect(await hf.get(id).status()).toBe(status), { timeout: 10_000 });
}

beforeAll(async () => {
  await hf.worker({ workflows: [pay, wait, done, parent, grandparent] }).start();
  const messages = ["no money", "card 4111 is blocked", "card 4222 is blocked", "no such customer"];
  for (const [index, message] of messages.entries()) await hf.start(pay, message, { id: `pay-${index}` });
  for (const id of ["stopped", "ended", "waits", "held"]) await hf.start(wait, undefined, { id });
  await hf.start(done, undefined, { id: "done" });
  for (const [index] of messages.entries()) await settled(`pay-${index}`, "failed");
  for (const id of ["stopped", "ended", "waits", "held"]) await settled(id, "waiting");
  await hf.get("stopped").cancel({ by: "ann", reason: "duplicate" });
  await hf.get("ended").terminate({ by: "ben", reason: "test data" });
  await hf.get("held").pause({ by: "ann", reason: "the bank is down" });
  await settled("stopped", "canceled");
  await settled("held", "parked");
  await settled("done", "completed");
});
afterAll(async () => {
  await board.close();
  await hf.close();
});

async function whyOf(id: string): Promise<string> {
  return (await get(board, `api/default/runs?id=${id}`)).body.runs[0].why.text;
}

async function reasonOf(id: string, of = board): Promise<string> {
  return (await get(of, `api/default/runs/${id}`)).body.why.reason;
}

test("a list says in which op it failed, with what, and after how many attempts; of what people did, who and why", async () => {
  expect(await whyOf("pay-0")).toBe("charge: CARD_DECLINED: no money, 2 attempts");
  expect(await whyOf("pay-3")).toBe("charge: no such customer, 2 attempts");
  expect(await whyOf("ended")).toBe("by ben: “test data”");
  expect(await whyOf("held")).toBe("by ann: “the bank is down”");
});

test("the run page says how it ended, whether it was undone, and speaks of its own buttons", async () => {
  expect(await reasonOf("pay-0")).toBe(
    "Failed in charge after 2 attempts: CARD_DECLINED: no money. Not everything was undone: a compensation failed. The tab Compensation shows which. A retry repeats it.",
  );
  expect(await reasonOf("ended")).toBe("Terminated by ben: “test data”.");
  expect(await reasonOf("done")).toBe("Completed.");
  expect(await reasonOf("held")).toMatch(
    /^It is paused by ann since .* \("the bank is down"\)\. Resume lets it continue\.$/,
  );
  for (const id of ["pay-0", "stopped", "ended", "waits", "held", "done"])
    expect(await reasonOf(id)).not.toMatch(/\w\(\)/);
});

describe("a run that failed because its child did", () => {
  // Not of the others: the overview counts failures.
  const other = connect("memory:", { logger: silentLogger });
  const boardOfOther = other.then((client) => dashboard(client, { auth: "open" }));
  afterAll(async () => {
    await (await boardOfOther).close();
    await (await other).close();
  });
  const page = async (id: string) => (await get(await boardOfOther, `api/default/runs/${id}`)).body;

  test("tells what the child failed with, and leads to it, without repeating its ids", async () => {
    const client = await other;
    await client.worker({ workflows: [pay, parent, grandparent] }).start();
    await client.run(parent, "pay-7", { id: "with-name" }).catch(() => {});
    await client.run(parent, null, { id: "without" }).catch(() => {});
    await client.run(grandparent, undefined, { id: "grand" }).catch(() => {});
    const named = await page("with-name");
    const { runId } = await client.get("pay-7").describe();
    expect(named.why).toMatchObject({
      reason: "Failed in pay: its run pay-7 failed in charge after 2 attempts: CARD_DECLINED: no money.",
      otherRun: { id: "pay-7", runId },
    });
    const unnamed = await page("without");
    expect(unnamed.why.reason).toBe(
      "Failed in pay: its run failed in charge after 2 attempts: CARD_DECLINED: no money.",
    );
    expect(unnamed.why.otherRun.runId).toBe(unnamed.run.error.data.runId);
    const { runs } = (await get(await boardOfOther, "api/default/runs?id=with-name")).body;
    expect(runs[0].why.text).toBe("pay: its run pay-7 failed in charge after 2 attempts: CARD_DECLINED: no money");
    expect((await page("grand")).why).toMatchObject({
      reason: "Failed: the shop is closed.",
      otherRun: { runId: expect.any(String) },
    });
    expect((await page("pay-7")).why.otherRun).toBeNull();
  });
});

test("the overview tells errors apart that have no code, by what they say but for numbers, with links that find them", async () => {
  const { failures } = (await get(board, "api/default/overview")).body;
  const shown = failures.map(({ op, error, message, count }: Record<string, unknown>) => ({
    op,
    error,
    message,
    count,
  }));
  expect(shown).toHaveLength(3);
  expect(shown[0]).toMatchObject({
    op: "charge",
    error: "Error",
    count: 2,
    message: expect.stringMatching(/is blocked/),
  });
  expect(shown).toContainEqual({ op: "charge", error: "CARD_DECLINED", message: "no money", count: 1 });
  for (const { status, workflow: name, filter, count } of failures) {
    const q = encodeURIComponent("ended>-1h");
    const found = await get(board, `api/default/runs?status=${status}&workflow=${name}&error=${filter}&q=${q}`);
    expect(found.body.runs.length).toBeGreaterThanOrEqual(count);
  }
});

test("bars say how many of their runs failed", async () => {
  const sums = async (query: string) => {
    const { counts, failed } = (await get(board, `api/default/runs/histogram${query}`)).body;
    return [counts, failed].map((bars: number[]) => bars.reduce((sum, one) => sum + one, 0));
  };
  expect(await sums("")).toEqual([9, 4]);
  expect(await sums("?status=failed")).toEqual([4, 4]);
  expect(await sums("?status=waiting,failed&workflow=wait")).toEqual([1, 0]);
  expect(await sums("?status=completed")).toEqual([1, 0]);
  // All of it has just been created: a day would be one bar.
  const { from, to, bucketMs } = (await get(board, "api/default/runs/histogram")).body;
  expect([to - from, bucketMs]).toEqual([600_000, 25_000]);
});

describe("where texts of errors are redacted", () => {
  const visitor = { user: "eve", role: "reader", namespaces: ["*"], payloads: "redacted" } as const;
  const redacting = dashboard(hf, {
    auth: () => visitor,
    redact: (value) => (typeof value === "string" ? value.replace(/\d{4}/g, "****") : value),
  });
  afterAll(() => redacting.close());

  test.each(["overview", "runs", "runs/pay-1", "runs/pay-1/events", "parked", "runs/pay-1/compensation"])(
    "%s does not tell them",
    async (path) => {
      const { status, body } = await get(redacting, `api/default/${path}`);
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toMatch(/4111|4222/);
    },
  );
});

describe("where very many runs are open", () => {
  const many = 10_000;
  test("a state without an index is counted among the newest, or not by the way; others are counted as ever", async () => {
    const large = await connect("memory:", { logger: silentLogger });
    const other = dashboard(large, { auth: "open" });
    for (let n = 0; n < many; n += 1_000)
      await large.startMany(
        Array.from({ length: 1_000 }, (_, index) => ({
          workflow: "later",
          options: { id: `later-${n + index}`, delay: "1 day" as const },
        })),
      );
    const { counts, countedOf } = (await get(other, "api/default/overview")).body;
    expect([countedOf, counts.pending, counts.waiting, counts.failed]).toEqual([1_000, 1_000, 0, 0]);
    const count = async (query: string) => (await get(other, `api/default/runs/count?${query}`)).body;
    expect(await count("status=waiting")).toEqual({ count: 0, capped: true, uncounted: true });
    expect(await count("retrying=1")).toMatchObject({ uncounted: true });
    expect(await count("status=waiting&exact=1")).toEqual({ count: 0, capped: false });
    expect(await count("status=parked")).toEqual({ count: 0, capped: false });
    expect(await count("status=pending,running,sleeping,waiting,compensating,parked")).toEqual({
      count: many,
      capped: true,
    });
    await other.close();
    await large.close();
  });
});
