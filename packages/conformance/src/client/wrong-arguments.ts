/** A client itself refuses every argument that it cannot use, with the same code on every store. */
import { type Client, isHoldfastError, type RunHandle, signal, workflow } from "holdfast";
import { expect } from "vitest";
import { refusalOf } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";

const ping = signal<unknown>("ping");
const job = workflow("job", async (_ctx, input: unknown) => input);

const NUL = "a\u0000b";
const LONE = "\ud800";
const UUID = "01890000-0000-7000-8000-000000000001";

/** Values that are hardly ever valid. */
const HOSTILE: Readonly<Record<string, unknown>> = {
  null: null,
  undefined: undefined,
  "not a number": Number.NaN,
  "a fraction": 1.5,
  "a negative number": -1,
  "a large number": 2 ** 60,
  infinity: Number.POSITIVE_INFINITY,
  "a bigint": 10n,
  true: true,
  "a symbol": Symbol("s"),
  "a function": () => "x",
  "an empty text": "",
  "a text with NUL": NUL,
  "half a surrogate pair": LONE,
  "a line break": "a\nb",
  "a long text": "x".repeat(1_000_000),
  "a quote": `'";--`,
  "an empty object": {},
  "an array": [1, 2],
  "an invalid date": new Date("never"),
  "a map": new Map([["a", 1]]),
  "an object whose getter throws": {
    get id(): string {
      throw new TypeError("boom");
    },
  },
  "an object without prototype": Object.assign(Object.create(null), { id: NUL }),
  "a revoked proxy": revokedProxy(),
  "an unknown option": { ids: "x" },
};

type Calls = Readonly<Record<string, (client: Client, run: RunHandle<unknown>, value: never) => unknown>>;

const CALLS: Calls = {
  "start(x)": (client, _, x) => client.start(x),
  "start(job, x)": (client, _, x) => client.start(job, x),
  "start(job, 1, x)": (client, _, x) => client.start(job, 1, x),
  ...Object.fromEntries(
    ["id", "version", "queue", "priority", "startAt", "delay", "timeout", "attributes", "ifRunning", "ifClosed"].map(
      (option) => [`start with ${option}`, (client: Client, _, x: never) => client.start(job, 1, { [option]: x })],
    ) as [string, Calls[string]][],
  ),
  "start with an attribute": (client, _, x) => client.start(job, 1, { attributes: { a: x } }),
  "startMany(x)": (client, _, x) => client.startMany(x),
  "startMany([x])": (client, _, x) => client.startMany([x]),
  "startMany with options": (client, _, x) => client.startMany([{ workflow: job, input: 1, options: x }]),
  "run(x)": (client, _, x) => client.start(x),
  "get(x)": (client, _, x) => client.get(x).status(),
  "get(job, x)": (client, _, x) => client.get(job, x).status(),
  "list(x)": (client, _, x) => client.list(x),
  ...Object.fromEntries(
    [
      "workflow",
      "version",
      "id",
      "status",
      "queue",
      "attributes",
      "createdAfter",
      "createdBefore",
      "limit",
      "cursor",
    ].map((option) => [`list with ${option}`, (client: Client, _, x: never) => client.list({ [option]: x })]) as [
      string,
      Calls[string],
    ][],
  ),
  "list with an attribute": (client, _, x) => client.list({ attributes: { a: x } }),
  "list with statuses": (client, _, x) => client.list({ status: [x] }),
  "list with a forged time": (client, _, x) => client.list({ cursor: cursorOf([x, UUID]) }),
  "list with a forged run": (client, _, x) => client.list({ cursor: cursorOf([1, x]) }),
  "count(x)": (client, _, x) => client.count(x),
  "count with an attribute": (client, _, x) => client.count({ attributes: { a: x } }),
  "purge(x)": (client, _, x) => client.purge(x),
  "purge with statuses": (client, _, x) => client.purge({ olderThan: "1h", statuses: x }),
  "purge with onBatch": (client, _, x) => client.purge({ olderThan: "1h", onBatch: x }),
  "why(x)": (client, _, x) => client.why(x),
  "worker(x)": (client, _, x) => client.worker(x),
  ...Object.fromEntries(
    ["workflows", "queues", "concurrency", "lease", "labels", "name", "handleSignals", "onChangedCode", "tuning"].map(
      (option) => [`worker with ${option}`, (client: Client, _, x: never) => client.worker({ [option]: x })],
    ) as [string, Calls[string]][],
  ),
  "workers.get(x)": (client, _, x) => client.workers.get(x),
  "versions.list(x)": (client, _, x) => client.versions.list(x),
  "versions.setDefault(x, 1)": (client, _, x) => client.versions.setDefault(x, "1"),
  "versions.setDefault(job, x)": (client, _, x) => client.versions.setDefault("job", x),
  "versions.canary(job, 1, x)": (client, _, x) => client.versions.canary("job", "1", x),
  "versions.deprecate(job, 1, x)": (client, _, x) => client.versions.deprecate("job", "1", x),
  "signal(x)": (_, run, x) => run.signal(x),
  "signal(ping, x)": (_, run, x) => run.signal(ping, x),
  "signal(ping, 1, x)": (_, run, x) => run.signal(ping, 1, x),
  "signal with id": (_, run, x) => run.signal(ping, 1, { id: x }),
  // Without an invalid option it would wait for the end of the run.
  "result(x)": (_, run, x) => (typeof x === "object" || x === undefined ? run.result(null as never) : run.result(x)),
  "result with timeout": (_, run, x) => (x === undefined ? undefined : run.result({ timeout: x })),
  "cancel(x)": (_, run, x) => run.cancel(x),
};

/** One run for each call, because a terminated run would answer differently the next time. */
const ENDING_CALLS: Calls = {
  "terminate(x)": (_, run, x) => run.terminate(x),
};

export const wrongArguments: ClientSuite = {
  noun: "that is handed something wrong",
  cases: {
    "refuses it with an error of its own, the same as on every other store": async (t) => {
      const here = await answers(await t.connect(), CALLS);
      const inMemory = await answers(await t.connectToMemory(), CALLS);
      expect(here).toEqual(inMemory);
      expect(here.filter((answer) => answer.includes("not a HoldfastError"))).toEqual([]);
    },

    "refuses it also where it ends a run": async (t) => {
      const here = await answers(await t.connect(), ENDING_CALLS);
      expect(here).toEqual(await answers(await t.connectToMemory(), ENDING_CALLS));
    },

    "refuses a reason that not every store can keep": async (t) => {
      const client = await t.connect();
      for (const call of ["cancel", "terminate"] as const) {
        const run = await client.start(job, 1);
        for (const reason of [NUL, LONE, `${LONE} tail`, 7, null, { reason: 7 }, "x".repeat(4_001)]) {
          const error = await refusalOf(() => run[call](reason as string));
          expect(error, `${call} with ${String(reason)}`).toMatchObject({ code: "invalid_option" });
          expect((error as Error).message).toContain(`${call}: the reason`);
        }
        expect(await run.status()).toBe("pending");
        await run[call]("a reason with\nlines, \u{1f600} and é");
      }
    },

    "refuses a string in the place of a signal, and a handle without an id": async (t) => {
      const client = await t.connect();
      const run = await client.start(job, 1);
      expect(await refusalOf(() => run.signal("approve" as never, 1 as never))).toMatchObject({
        code: "invalid_option",
        message: 'signal: the first argument is a string, not a signal. Make one with signal("approve").',
      });
      const missing = { code: "invalid_name", message: "The run id undefined is undefined, not a string." };
      expect(await refusalOf(() => client.get(undefined as never))).toMatchObject(missing);
      expect(await refusalOf(() => client.get(job, undefined as never))).toMatchObject(missing);
      expect(await refusalOf(() => client.get(job as never))).toMatchObject(missing);
    },

    "refuses attributes without a value, and forged cursors": async (t) => {
      const client = await t.connect();
      await client.startMany([1, 2, 3].map((input) => ({ workflow: job, input })));
      for (const call of ["list", "count"] as const)
        expect(await refusalOf(() => client[call]({ attributes: { a: undefined as never } }))).toMatchObject({
          code: "invalid_option",
          message: `${call}: attribute "a" is not a string, a finite number, a boolean or null.`,
        });
      const { cursor } = await client.list({ limit: 1 });
      const [createdAt] = JSON.parse(Buffer.from(cursor as string, "base64url").toString()) as [number];
      for (const forged of [[createdAt, "x"], [createdAt + 0.5, UUID], [2 ** 60, UUID], ["1", UUID], [UUID], null, {}])
        expect(await refusalOf(() => client.list({ cursor: cursorOf(forged) })), JSON.stringify(forged)).toMatchObject({
          code: "invalid_option",
          message: "list: the cursor was not returned by list().",
        });
      expect((await client.list({ cursor: cursor as string })).runs).toHaveLength(2);
    },

    "refuses a migrate, a durability and a schema that mean nothing": async (t) => {
      const wrong = {
        migrate: "yes",
        durability: "most",
        schema: "pg_x",
        shema: "x",
        namespace: null,
        limits: { ops: 1 },
      };
      for (const [option, value] of Object.entries(wrong))
        expect(await refusalOf(() => t.connect({ [option]: value })), option).toMatchObject({
          code: option === "namespace" ? "invalid_name" : "invalid_option",
        });
    },
  },
};

/** The answer of every call to every hostile value, one line each. */
async function answers(client: Client, calls: Calls): Promise<readonly string[]> {
  const lines: string[] = [];
  const ends = calls === ENDING_CALLS;
  const shared = await client.start(job, 1);
  for (const [name, call] of Object.entries(calls)) {
    for (const [title, value] of Object.entries(HOSTILE)) {
      const run = ends ? await client.start(job, 1) : shared;
      const error = await refusalOf(() => call(client, run, value as never));
      lines.push(`${name}, x is ${title}: ${answerOf(error)}`);
    }
  }
  return lines;
}

function answerOf(error: unknown): string {
  if (error === undefined) return "accepted";
  return isHoldfastError(error) ? error.code : `not a HoldfastError: ${String(error)}`;
}

function cursorOf(place: unknown): string {
  try {
    return Buffer.from(JSON.stringify(place)).toString("base64url");
  } catch {
    return "x"; // JSON cannot express it
  }
}

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
