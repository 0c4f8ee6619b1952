import { type ListOptions, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { type Fleet, openFleet } from "../lab/fleet.ts";

const go = signal("go");

const sleeper = workflow("sleeper", (ctx) => ctx.sleep("nap", "365 days"));
const waiter = workflow({ name: "waiter", version: "2", queue: "slow" }, (ctx) => ctx.receive(go));
const failer = workflow("failer", () => Promise.reject(new Error("no")));
const stuck = workflow("stuck", () => new Promise<void>(() => {}));

/** One run in each state, a minute apart. */
async function filled(): Promise<{ fleet: Fleet; client: ReturnType<Fleet["client"]> }> {
  const fleet = openFleet();
  await fleet.worker({ workflows: [sleeper, waiter, failer, stuck], queues: ["default", "slow"] });
  const client = fleet.client();
  const starts = [
    () => client.start(sleeper, undefined, { id: "sleeping", attributes: { team: "a", n: 1 } }),
    () => client.start(waiter, undefined, { id: "waiting", attributes: { team: "b", n: 1 } }),
    () => client.start(failer, undefined, { id: "failed", attributes: { team: "a" } }),
    () => client.start(stuck, undefined, { id: "parked" }),
    () => client.start("unknown", undefined, { id: "pending" }),
    () => client.start(sleeper, undefined, { id: "canceled" }).then((run) => run.cancel()),
    () => client.start(sleeper, undefined, { id: "terminated" }).then((run) => run.terminate()),
    () => client.start(waiter, undefined, { id: "completed" }).then((run) => run.signal(go)),
  ];
  for (const start of starts) {
    await start();
    await fleet.clock.advance("1m");
  }
  return { fleet, client };
}

describe("list", () => {
  test("shows runs newest first, each with everything but its payloads", async () => {
    const { client } = await filled();
    const { runs, cursor } = await client.list();
    expect(runs.map(({ id }) => id)).toEqual([
      "completed",
      "terminated",
      "canceled",
      "pending",
      "parked",
      "failed",
      "waiting",
      "sleeping",
    ]);
    expect(runs.map(({ id }) => id)).toEqual(runs.map(({ status }) => status));
    expect(cursor).toBeNull();
    const sleeping = runs.at(-1);
    expect(sleeping).toMatchObject({
      workflow: "sleeper",
      version: "1",
      queue: "default",
      namespace: "default",
      priority: 0,
      attributes: { team: "a", n: 1 },
      waitingFor: ["nap"],
      workerId: null,
      endedAt: null,
      historyLength: 2,
    });
    expect(sleeping).not.toHaveProperty("input");
    expect(sleeping).not.toHaveProperty("error");
  });

  test.each<[string, ListOptions, string[]]>([
    ["workflow", { workflow: "waiter" }, ["completed", "waiting"]],
    ["version", { version: "2" }, ["completed", "waiting"]],
    ["queue", { queue: "slow" }, ["completed", "waiting"]],
    ["id", { id: "parked" }, ["parked"]],
    ["one status", { status: "failed" }, ["failed"]],
    ["several statuses", { status: ["canceled", "terminated"] }, ["terminated", "canceled"]],
    ["no status at all", { status: [] }, []],
    ["an attribute", { attributes: { team: "a" } }, ["failed", "sleeping"]],
    ["several attributes, all of which must fit", { attributes: { team: "b", n: 1 } }, ["waiting"]],
    ["everything together", { workflow: "sleeper", status: "sleeping", attributes: { n: 1 } }, ["sleeping"]],
    ["something that nobody has", { workflow: "nobody" }, []],
  ])("and count filter by %s", async (_title, filter, ids) => {
    const { client } = await filled();
    expect((await client.list(filter)).runs.map(({ id }) => id)).toEqual(ids);
    expect(await client.count(filter)).toBe(ids.length);
  });

  test("and count filter by the time of creation, without its ends", async () => {
    const { client } = await filled();
    const at = async (id: string) => (await client.get(id).describe()).createdAt;
    const [second, fourth] = [await at("waiting"), await at("parked")];
    const between = { createdAfter: second, createdBefore: fourth };
    expect((await client.list(between)).runs.map(({ id }) => id)).toEqual(["failed"]);
    expect(await client.count(between)).toBe(1);
    expect(await client.count({ createdAfter: fourth })).toBe(4);
    expect(await client.count({ createdBefore: second })).toBe(1);
  });

  test("comes in pages that miss nothing and repeat nothing, also while runs are added", async () => {
    const fleet = openFleet();
    const client = fleet.client();
    const ids = Array.from({ length: 25 }, (_, i) => `r-${i}`);
    for (const id of ids) {
      await client.start("w", undefined, { id });
      if (Number(id.slice(2)) % 3 === 0) await fleet.clock.advance("1s");
    }
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof client.list>> = await client.list({
        limit: 4,
        ...(cursor === null ? {} : { cursor }),
      });
      seen.push(...page.runs.map(({ id }) => id));
      cursor = page.cursor;
      await client.start("w", undefined, { id: `new-${seen.length}` });
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(25);
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  test("gives no cursor when the last page is just full", async () => {
    const fleet = openFleet();
    const client = fleet.client();
    for (const id of ["a", "b"]) await client.start("w", undefined, { id });
    const page = await client.list({ limit: 2 });
    expect(page.runs).toHaveLength(2);
    expect(page.cursor).toBeNull();
  });

  test.each<[string, ListOptions, string]>([
    ["a limit of none", { limit: 0 }, "list: limit is 0; it must be a whole number from 1 to 1000."],
    ["a limit that is too large", { limit: 1001 }, "list: limit is 1001; it must be a whole number from 1 to 1000."],
    ["a cursor of its own making", { cursor: "xyz" }, "list: the cursor was not returned by list()."],
    ["a date that is none", { createdAfter: new Date("?") }, "list: createdAfter is not a valid Date."],
    [
      "a status that does not exist",
      { status: "done" as never },
      'list: status is "done"; it may be "pending", "running"',
    ],
  ])("refuses %s and says what it may be", async (_title, options, message) => {
    const client = openFleet().client();
    await expect(client.list(options)).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(message),
    });
  });
});
