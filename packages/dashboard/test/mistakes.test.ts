/** What must be refused, and what must be told: mistakes of people and programs, and a store that is away. */
import { connect, signal, silentLogger, workflow } from "holdfast";
import { clientStore } from "holdfast/adapter";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ROUTES } from "../src/api/routes.ts";
import { dashboard } from "../src/index.ts";
import { get, post } from "./asking.ts";

const paid = signal<{ cents: number }>("paid");
const order = workflow("order", async (ctx, input: { fail?: string }) => {
  if (input.fail !== undefined) throw new Error(input.fail);
  await ctx.receive(paid);
});
const hf = await connect("memory:", { logger: silentLogger });
const board = dashboard(hf, { auth: "open" });

beforeAll(async () => {
  await hf.worker({ workflows: [order] }).start();
  await hf.start(order, { fail: "card declined by the bank" }, { id: "declined" });
  await hf.start(order, {}, { id: "unpaid" });
  await hf.start(order, {}, { id: "." });
  await vi.waitFor(async () => expect(await hf.count({ status: ["pending", "running"] })).toBe(0), { timeout: 10_000 });
});
afterAll(async () => {
  await board.close();
  await hf.close();
});

const idsOf = (answer: { body: { runs: { id: string }[] } }): string[] => answer.body.runs.map(({ id }) => id).sort();
const search = (q: string) => get(board, `api/default/runs?q=${encodeURIComponent(q)}`);

describe("a batch", () => {
  test.each([{}, { q: " " }, { attributes: {} }])("on %j is refused unless it says all", async (filter) => {
    const { status, body } = await post(board, "api/default/batch", { action: "cancel", id: "b1", filter });
    expect([status, body.message]).toEqual([400, expect.stringContaining("Set all to true")]);
    expect(await hf.get("unpaid").status()).toBe("waiting");
    const both = { action: "cancel", id: "b1", filter: { id: "unpaid" }, all: true };
    expect((await post(board, "api/default/batch", both)).status).toBe(400);
  });

  test("on all runs acts on all", async () => {
    const asked = { action: "pause", id: "pause-all", filter: {}, all: true };
    expect((await post(board, "api/default/batch", asked)).status).toBe(200);
    await vi.waitFor(async () => expect(await hf.get("unpaid").status()).toBe("parked"), { timeout: 10_000 });
    const back = { action: "resume", id: "resume-all", filter: {}, all: true };
    expect((await post(board, "api/default/batch", back)).status).toBe(200);
    await vi.waitFor(async () => expect(await hf.get("unpaid").status()).toBe("waiting"), { timeout: 10_000 });
  });

  test("cannot go by what errors say", async () => {
    const asked = { action: "retry", id: "b2", filter: { q: "message:declined" } };
    expect((await post(board, "api/default/batch", asked)).body).toMatchObject({ code: "bad_filter" });
  });
});

test("every action refuses a field that it does not know", async () => {
  for (const { method, path } of ROUTES.filter((route) => route.method === "POST")) {
    const { status, body } = await post(board, `api/default/${path.replaceAll(/:\w+/g, "x")}`, { reasn: "typo" });
    expect([method, path, status, body.message]).toEqual([
      "POST",
      path,
      400,
      expect.stringContaining('There is no field "reasn"'),
    ]);
  }
});

test("to cancel or terminate a run that has ended is refused, and named runs that have ended are skipped", async () => {
  for (const action of ["cancel", "terminate"])
    expect((await post(board, `api/default/runs/declined/${action}`, { reason: "x" })).body).toMatchObject({
      code: "run_closed",
      message: 'Run "declined" is failed already. Nothing was changed.',
    });
  const { runId } = await hf.get("declined").describe();
  const named = await post(board, "api/default/batch", { action: "cancel", id: "b3", runIds: [runId] });
  expect(named.body).toEqual({ id: "b3", done: 0, skipped: [{ runId, code: "run_closed" }] });
});

describe("a search", () => {
  test("finds what is waited for by its name", async () => {
    expect(idsOf(await search("paid"))).toEqual([".", "unpaid"]);
    expect(idsOf(await search("waiting:paid"))).toEqual([".", "unpaid"]);
  });

  test("finds what errors say, and counts it", async () => {
    for (const q of ["DECLINED", 'error:"card declined"', "message:bank message:card", "declined AND status:failed"])
      expect(idsOf(await search(q)), q).toEqual(["declined"]);
    expect(idsOf(await search("message:nothing"))).toEqual([]);
    expect((await get(board, "api/default/runs/count?q=message:bank")).body).toEqual({ count: 1, capped: false });
  });

  test("tells nobody what an error says who must not see it", async () => {
    const visitor = { user: "ann", role: "reader", namespaces: ["*"], payloads: "hidden" } as const;
    const other = dashboard(hf, { auth: () => visitor });
    expect(idsOf(await get(other, "api/default/runs?q=message:declined"))).toEqual([]);
    await other.close();
  });
});

test("what there is no page or call for is not found, whatever headers the request has", async () => {
  const path = "holdfast.v1.WorkflowService/StratWorkflow";
  for (const headers of [{}, { "x-holdfast-csrf": "", origin: "", "content-type": "application/grpc" }]) {
    const { status, body } = await post(board, path, {}, headers);
    expect([status, body.code]).toEqual([404, "not_found"]);
  }
  expect((await post(board, path, {}, { host: "evil.example" })).body.code).toBe("bad_host");
});

test("what is too large for a page or for the store is 413, and says so", async () => {
  const input = (characters: number): object => ({ workflow: "order", input: JSON.stringify("x".repeat(characters)) });
  expect((await post(board, "api/default/start", input(4_500_000))).body).toMatchObject({ code: "too_large" });
  for (const characters of [3_000_000, 4_500_000])
    expect((await post(board, "api/default/start", input(characters))).status).toBe(413);
  const large = { name: "paid", payload: JSON.stringify("x".repeat(3_000_000)) };
  expect(await post(board, "api/default/runs/unpaid/signal", large)).toMatchObject({
    status: 413,
    body: { code: "payload_too_large" },
  });
});

describe("a refusal speaks of pages and buttons", () => {
  test("not of calls of the library", async () => {
    const schedule = { id: "nightly", workflow: "order", cron: "0 0 * * *" };
    expect((await post(board, "api/default/schedules/create", schedule)).status).toBe(200);
    const told = [
      await get(board, "api/default/schedules/none"),
      await post(board, "api/default/schedules/create", schedule),
      await post(board, "api/default/runs/declined/fork", { before: "nothing-like-it" }),
    ];
    for (const { status, body } of told) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(body.message).not.toMatch(/\bhf\.|\bhandle\.|\w\(\)/);
    }
    expect(told[0]?.body.message).toContain("The page Schedules shows those there are.");
  });

  test("nor does the reason why a run waits", async () => {
    await post(board, "api/default/queues/shut/limits", { limits: { concurrency: 0 }, expected: {} });
    await hf.worker({ workflows: [order], queues: ["shut"] }).start();
    await hf.start(order, {}, { id: "shut-out", queue: "shut" });
    await vi.waitFor(
      async () =>
        expect((await get(board, "api/default/runs/shut-out")).body.why.reason).toContain(
          "The page Queues & limits changes it.",
        ),
      { timeout: 10_000 },
    );
  });
});

test("a list says what an error says", async () => {
  const [row] = (await search("id:declined")).body.runs;
  expect(row.why.text).toBe("card declined by the bank");
  const { body } = await get(board, `api/default/runs/rows?runIds=${row.runId}`);
  expect(body.runs[0].why.text).toBe("card declined by the bank");
});

test("of two people who change the limits of a queue at once, the second hears of the first", async () => {
  const set = (limits: object, expected: object) => post(board, "api/default/queues/mail/limits", { limits, expected });
  expect((await set({ concurrency: 5 }, {})).status).toBe(200);
  const late = await set({ concurrency: 9 }, {});
  expect([late.status, late.body.code]).toEqual([409, "limits_changed"]);
  const [shown] = (await get(board, "api/default/queues")).body.queues.filter(
    ({ name }: { name: string }) => name === "mail",
  );
  expect(shown.limits).toEqual({ concurrency: 5 });
  const rate = { limit: 3, per: "1s" };
  expect((await set({ concurrency: 9, rate }, shown.limits)).status).toBe(200);
  const [now] = (await get(board, "api/default/queues")).body.queues.filter(
    ({ name }: { name: string }) => name === "mail",
  );
  expect((await set({}, now.limits)).status).toBe(200);
});

test("a namespace that does not exist is not an empty one", async () => {
  const { status, body } = await get(board, "api/defualt/runs");
  expect([status, body.message]).toEqual([404, expect.stringContaining('There is no namespace "defualt"')]);
  const other = clientStore(hf).client("used");
  await other.start("order", {}, { id: "o" });
  expect((await get(board, "api/used/runs")).body.runs).toHaveLength(1);
});

test('a run whose id is "." has a page', async () => {
  expect((await get(board, "api/default/runs/~.")).body.run.id).toBe(".");
});

test("while the store is away the stream says so, and says when it is back", async () => {
  const { store } = clientStore(hf);
  const answer = await board.fetch(
    new Request("http://127.0.0.1:7433/api/default/live?topics=runs", { headers: { host: "127.0.0.1:7433" } }),
  );
  const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const until = async (wanted: RegExp): Promise<void> => {
    while (!wanted.test(text)) text += (await reader.read()).value ?? "";
  };
  await until(/"type":"hello"/);
  const away = vi.spyOn(store.runs, "list").mockRejectedValue(new Error("no route to host"));
  await until(/"type":"away","topics":\["runs"\]/);
  expect(text).not.toMatch(/resync/);
  away.mockRestore();
  await until(/"type":"resync","topics":\["runs"\]/);
  expect(text.match(/"type":"away"/g)).toHaveLength(1);
  await reader.cancel();
}, 20_000);

describe("behind a proxy that names itself as the host", () => {
  const headers = { host: "internal:8080", origin: "https://ops.example.com" };
  const visitor = { user: "ann", role: "admin", namespaces: ["*"], payloads: "full" } as const;

  test("an action is refused, with what to do", async () => {
    const other = dashboard(hf, { auth: () => visitor });
    const { status, body } = await post(other, "api/default/runs/unpaid/signal", { name: "noted" }, headers);
    expect([status, body.message]).toEqual([403, expect.stringContaining("pass on Host, or name the origin")]);
    await other.close();
  });

  test("it is let through from an origin that the option names, and from no other", async () => {
    const other = dashboard(hf, { auth: () => visitor, origins: ["https://ops.example.com"] });
    const send = (origin: string) =>
      post(other, "api/default/runs/unpaid/signal", { name: "noted" }, { ...headers, origin });
    expect((await send("https://ops.example.com")).status).toBe(200);
    for (const origin of ["http://ops.example.com", "https://evil.example", "https://ops.example.com:444", "null"])
      expect((await send(origin)).status).toBe(403);
    await other.close();
    expect(() => dashboard(hf, { auth: () => visitor, origins: ["ops.example.com"] })).toThrow(/origins/);
  });
});
