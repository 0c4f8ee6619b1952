import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { WebhookRequest } from "../../src/ports/webhooks.ts";
import { openFleet } from "../lab/fleet.ts";
import { NEVER } from "../lab/harness.ts";

const SECRET = "a secret";
const rules = [{ detect: "backlog", after: "1m", action: "alert" }] as const;

/** A worker whose alerts are posted to a webhook that answers like this; a run that nobody serves is due. */
async function posting(answer: (request: WebhookRequest, n: number) => Promise<{ status: number }>) {
  const fleet = openFleet();
  const posts: { readonly request: WebhookRequest; readonly at: number }[] = [];
  const webhooks = {
    post: (request: WebhookRequest) => {
      posts.push({ request, at: fleet.clock.now() });
      return answer(request, posts.length);
    },
  };
  const counted: string[] = [];
  const telemetry = {
    count: (metric: string, _times: number, labels: Readonly<Record<string, string>>) => {
      if (metric === "alerts") counted.push(String(labels["outcome"]));
    },
    duration: () => {},
  };
  const watchdog = { every: "10s", rules, webhook: { url: "http://alerts.test/hook", secret: SECRET } } as const;
  const worker = await fleet.worker({ watchdog }, { webhooks, telemetry });
  await fleet.client().start("nobody", undefined);
  await fleet.clock.advance("75s");
  return { fleet, posts, worker, counted };
}

const ok = async () => ({ status: 204 });

describe("a webhook", () => {
  test("gets the alert as JSON, signed with the secret", async () => {
    const { posts, counted } = await posting(ok);
    expect(posts.length).toBe(1);
    const [{ request }] = posts as [(typeof posts)[number]];
    const { url, body, headers } = request;
    expect(url).toBe("http://alerts.test/hook");
    expect(JSON.parse(body)).toMatchObject({
      state: "firing",
      detect: "backlog",
      namespace: "default",
      queue: "default",
    });
    expect(headers).toEqual({
      "content-type": "application/json",
      "x-holdfast-signature": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
    });
    expect(counted).toEqual(["sent"]);
  });

  test("that answers 500 is asked again, later each time, five times in all", async () => {
    const { fleet, posts, counted } = await posting(async () => ({ status: 500 }));
    await fleet.clock.advance("1m");
    const pauses = posts.slice(1).map(({ at }, i) => at - (posts[i]?.at ?? 0));
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(counted).toEqual(["failed"]);
    const line = fleet.lines.find(({ level }) => level === "error");
    expect(line).toMatchObject({
      message: "an alert could not be sent",
      fields: { error: "it answered 500", posts: 5 },
    });
    expect(JSON.stringify(fleet.lines)).not.toContain(SECRET);
  });

  test("that recovers gets the alert", async () => {
    const { fleet, counted } = await posting(async (_request, n) => ({ status: n < 3 ? 503 : 200 }));
    await fleet.clock.advance("1m");
    expect(counted).toEqual(["sent"]);
  });

  test("that redirects is not followed, and not asked again", async () => {
    const { fleet, posts, counted } = await posting(async () => ({ status: 307 }));
    await fleet.clock.advance("1m");
    expect([posts.length, counted]).toEqual([1, ["failed"]]);
    expect(fleet.lines.at(-1)).toMatchObject({ fields: { error: "it redirects (307), which is not followed" } });
  });

  test("that does not know the way in is not asked again", async () => {
    const { posts, counted } = await posting(async () => ({ status: 401 }));
    expect([posts.length, counted]).toEqual([1, ["failed"]]);
  });

  test("that hangs is given up after ten seconds, and nothing else waits for it", async () => {
    const { fleet, posts, worker } = await posting(() => NEVER);
    const looks = fleet.store.calls["queues.backlog"] ?? 0;
    await fleet.clock.advance("2m");
    expect((fleet.store.calls["queues.backlog"] ?? 0) - looks).toBe(12);
    expect(posts.length).toBe(5);
    expect(posts[0]?.request.signal.aborted).toBe(true);
    await fleet.clock.until(worker.drain());
  });

  test("gets the alert that waits before the worker has stopped", async () => {
    let status = 500;
    const { fleet, posts, worker, counted } = await posting(async () => ({ status }));
    const [before, at] = [posts.length, fleet.clock.now()];
    status = 204;
    await fleet.clock.until(worker.stop());
    expect([posts.length - before, fleet.clock.now() - at, counted]).toEqual([1, 0, ["sent"]]);
  });

  test("that hangs keeps a worker from stopping for three seconds", async () => {
    const { fleet, worker, counted } = await posting(() => NEVER);
    const before = fleet.clock.now();
    await fleet.clock.until(worker.stop());
    expect([fleet.clock.now() - before, counted]).toEqual([3_000, ["dropped"]]);
  });

  test("gets nothing more once the worker has stopped", async () => {
    const { fleet, posts, worker } = await posting(async () => ({ status: 500 }));
    await fleet.clock.until(worker.stop());
    const before = posts.length;
    await fleet.clock.advance("1m");
    expect(posts.length).toBe(before);
  });
});

describe("alerts", () => {
  const open = async () => {
    const fleet = openFleet();
    const told: string[] = [];
    const onAlert = ({ state, id }: { readonly state: string; readonly id: string }) =>
      void told.push(`${state} ${id}`);
    const worker = await fleet.worker({ watchdog: { every: "10s", rules, onAlert } });
    const run = await fleet.client().start("nobody", undefined);
    await fleet.clock.advance("75s");
    return { fleet, told, worker, run };
  };

  test("of what stays wrong are told once, and again after an hour, under the same id", async () => {
    const { fleet, told } = await open();
    expect(told.length).toBe(1);
    await fleet.clock.advance("55m");
    expect(told.length).toBe(1);
    await fleet.clock.advance("6m");
    expect(told.length).toBe(2);
    expect(new Set(told).size).toBe(1);
  });

  test("of what comes back are told at once, under another id", async () => {
    const { fleet, told, run } = await open();
    await run.terminate();
    await fleet.clock.advance("20s");
    expect(told.map((one) => one.split(" ")[0])).toEqual(["firing", "resolved"]);
    await fleet.client().start("nobody", undefined);
    await fleet.clock.advance("80s");
    expect(told.map((one) => one.split(" ")[0])).toEqual(["firing", "resolved", "firing"]);
    expect(new Set(told.map((one) => one.split(" ")[1])).size).toBe(2);
  });

  test("that onAlert fails with are logged, and change nothing", async () => {
    const fleet = openFleet();
    const onAlert = async () => {
      throw new Error("no pager");
    };
    await fleet.worker({ watchdog: { every: "10s", rules, onAlert } });
    await fleet.client().start("nobody", undefined);
    await fleet.clock.advance("2m");
    expect(fleet.lines.filter(({ message }) => message === "onAlert of the watchdog failed").length).toBe(1);
  });
});
