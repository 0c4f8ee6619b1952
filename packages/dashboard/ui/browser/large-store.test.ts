// What pages cost, counted and never timed: requests, calls of the store, rows, bytes, elements. Each is counted in a store, and again
// when it has grown: the cost may not follow. HOLDFAST_LARGE_RUNS=1000000 HOLDFAST_LARGE_OPS=50000 grows it to what the limits are meant for.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { type Client, connect, silentLogger, workflow } from "holdfast";
import { clientStore } from "holdfast/adapter";
import pg from "pg";
import type { Browser, Page, Request as PageRequest } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { dashboard } from "../../src/index.ts";
import { toNode } from "../../src/node.ts";
import { builtPages } from "./built-pages.ts";
import { CHROMIUM, openBrowser, openPage } from "./chromium.ts";

const FULL = process.env["HOLDFAST_LARGE_RUNS"] !== undefined;
/** More than the 10,000 at which counts stop, and more than the 5,000 ops above which rows of the timeline merge. */
const SMALL = { runs: 11_000, ops: 6_000 };
const LARGE = {
  runs: Number(process.env["HOLDFAST_LARGE_RUNS"] ?? 22_000),
  ops: Number(process.env["HOLDFAST_LARGE_OPS"] ?? 12_000),
};
const AT_ONCE = 1_000;
const FILL_MS = FULL ? 1_800_000 : 180_000;
const SCHEMA = "dashboard_large";

const long = workflow("long", async (ctx, ops: number) => {
  for (let n = 0; n < ops; n++) await ctx.sideEffect("tick", () => n);
});

interface Cost {
  requests: number;
  bytes: number;
  /** Calls of the store and the rows in its answers. */
  calls: number;
  rows: number;
  /** Rows that PostgreSQL itself read to answer. */
  read: number;
  nodes: number;
}

const postgres = process.env["HOLDFAST_TEST_POSTGRES_URL"];
const folder = mkdtempSync(path.join(tmpdir(), "holdfast-large-"));
const STORES = [
  { name: "SQLite", url: `file:${path.join(folder, "large.db")}`, schema: {} },
  ...(postgres ? [{ name: "PostgreSQL", url: named(postgres), schema: { schema: SCHEMA } }] : []),
];
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PAGES = ["runs", "scrolled", "overview", "timeline", "events"] as const;
type Costs = Record<(typeof PAGES)[number], Cost>;

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    await builtPages();
    browser = await openBrowser();
  }, 60_000);
  afterAll(() => browser?.close());

  describe.each(STORES)("on $name", ({ url, schema }) => {
    let small: Costs;
    let large: Costs;

    beforeAll(async () => {
      if (postgres && schema.schema) await asked(postgres, `drop schema if exists ${SCHEMA} cascade`);
      await fill(url, schema, 0, SMALL.runs, SMALL.ops);
      small = await costs(SMALL);
      await fill(url, schema, SMALL.runs, LARGE.runs, LARGE.ops);
      large = await costs(LARGE);
      if (FULL)
        for (const [size, found] of Object.entries({ small, large })) report(`${url.slice(0, 4)} ${size}`, found);
    }, FILL_MS);
    afterAll(async () => {
      if (postgres && schema.schema) await asked(postgres, `drop schema if exists ${SCHEMA} cascade`);
    });

    test.each(["runs", "overview", "events"] as const)("%s: what is asked of a store does not grow with it", (page) => {
      const before = small[page];
      for (const name of ["requests", "calls", "rows", "nodes"] as const)
        expect(large[page][name], name).toBeLessThanOrEqual(before[name] * 1.25 + 12);
      expect(large[page].bytes).toBeLessThanOrEqual(before.bytes * 1.25 + 2_000);
    });

    // A count that stops at 10,000 reads up to all of a store of twice that: the limits are for any size.
    test("what PostgreSQL itself reads for them has a limit, however many runs there are", () => {
      const { runs, scrolled, overview, events } = large;
      const read = { runs: runs.read, scrolled: scrolled.read, overview: overview.read, events: events.read };
      expect(read).toSatisfy((found: typeof read) => Math.max(found.runs, found.scrolled) <= 120_000);
      expect(read).toSatisfy((found: typeof read) => found.overview <= 80_000 && found.events <= 5_000);
    });

    test("the list of runs: a page of rows, counts that stop, few elements", () => {
      expect(large.runs).toSatisfy(within({ requests: 20, calls: 120, rows: 1_500, bytes: 200_000, nodes: 1_500 }));
    });

    test("scrolling far keeps the elements few, and reads a page of rows at a time", () => {
      expect(large.scrolled).toSatisfy(within({ requests: 26, calls: 150, rows: 2_500, bytes: 400_000, nodes: 1_500 }));
    });

    test("the overview does not count runs", () => {
      expect(large.overview).toSatisfy(within({ requests: 10, calls: 80, rows: 3_000, bytes: 100_000, nodes: 1_500 }));
    });

    test("a run with very many ops: few requests, and as few elements as for one half as long", () => {
      const { requests, calls, nodes } = large.timeline;
      expect(requests).toBeLessThanOrEqual(8);
      expect(calls).toBeLessThanOrEqual(80);
      expect(nodes).toBeLessThanOrEqual(small.timeline.nodes + 30);
    });

    test("its events come in windows of 200", () => {
      expect(large.events).toSatisfy(within({ requests: 8, calls: 80, rows: 1_500, bytes: 200_000, nodes: 900 }));
    });

    async function costs({ runs, ops }: typeof SMALL): Promise<Costs> {
      const list = async (page: Page): Promise<void> => {
        await page.getByRole("link", { name: `newest-${runs}`, exact: true }).waitFor();
        await page
          .getByText(/10,000\+/)
          .first()
          .waitFor();
        await page.getByRole("img", { name: /runs in .* per bar/ }).waitFor();
      };
      return {
        runs: await costOf("runs", list),
        scrolled: await costOf("runs", async (page) => {
          await list(page);
          await page.getByRole("link", { name: `newest-${runs}`, exact: true }).hover();
          const target = page.locator("[role=row][data-index='290']");
          while ((await target.count()) === 0) {
            expect(await page.getByRole("alert").allTextContents()).toEqual([]);
            await page.mouse.wheel(0, 2_000);
            await nextFrame(page);
          }
        }),
        overview: await costOf("", async (page) => {
          await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
          await page.getByRole("heading", { level: 2, name: "Started" }).waitFor();
        }),
        timeline: await costOf(`runs/long-${ops}`, async (page) => {
          await page.getByRole("list", { name: "Ops" }).waitFor();
          await page.getByRole("region", { name: "Latest events" }).getByText("run_completed").waitFor();
        }),
        events: await costOf(`runs/long-${ops}?tab=events&event=${ops / 2}`, async (page) => {
          // The window at the top of the list, and the event that the address names: either may come first.
          await page
            .getByRole("region", { name: /events$/ })
            .getByText("run_completed")
            .waitFor();
          await page
            .getByRole("complementary", { name: "Selected event" })
            .getByText("category", { exact: true })
            .waitFor();
        }),
      };
    }

    /**
     * What a page has cost when it has all that it asks for: of the API alone, its files are the same anywhere. How long that takes must not
     * be in it, so what a page asks again after some seconds is not: its clock stands, its intervals do not tick, its stream has no answer.
     */
    async function costOf(where: string, shown: (page: Page) => Promise<void>): Promise<Cost> {
      const cost: Cost = { requests: 0, bytes: 0, calls: 0, rows: 0, read: 0, nodes: 0 };
      const readBefore = await rowsRead(schema.schema);
      const board = await openBoard(url, schema, cost);
      const page = await openPage(browser, "about:blank");
      await page.addInitScript(() => {
        const now = Date.now();
        Date.now = () => now;
        globalThis.setInterval = (() => 0) as unknown as typeof setInterval;
      });
      await page.route("**/live?*", () => {});
      const settled = requestsOf(page, cost);
      await page.goto(`${board.url}/default/${where}`);
      await shown(page);
      await settled();
      cost.nodes = await page.locator("*").count();
      await page.context().close();
      await board.close();
      cost.read = (await rowsRead(schema.schema)) - readBefore;
      return cost;
    }
  });
});

/** Counts them; the function waits until all that the page has asked for has come and is shown, and nothing more was asked for. */
function requestsOf(page: Page, cost: Cost): () => Promise<void> {
  const open = new Set<PageRequest>();
  const bodies: Promise<void>[] = [];
  let begun = 0;
  page.on("request", (request) => {
    if (request.url().includes("/live?")) return;
    begun += 1;
    open.add(request);
  });
  page.on("response", (response) => {
    if (!response.url().includes("/api/")) return;
    cost.requests += 1;
    const add = (body: Buffer): void => {
      cost.bytes += body.length;
    };
    bodies.push(response.body().then(add, () => {}));
  });
  page.on("requestfinished", (request) => void open.delete(request));
  page.on("requestfailed", (request) => void open.delete(request));
  return async () => {
    for (let known = -1; known !== begun; ) {
      known = begun;
      await vi.waitUntil(() => open.size === 0, { timeout: 30_000 });
      await page.getByText("Loading", { exact: true }).first().waitFor({ state: "detached" });
      // What has come may make it ask for more, in the frame that shows it.
      await nextFrame(page);
      await nextFrame(page);
    }
    await Promise.all(bodies);
  };
}

/** A page that draws nothing any more is a failure, not something to wait for. */
async function nextFrame(page: Page): Promise<void> {
  await page.waitForFunction(() => new Promise((done) => requestAnimationFrame(() => done(true))));
}

/** Runs that start tomorrow, one that is the newest, and a long one that has ended. */
async function fill(url: string, schema: object, from: number, to: number, ops: number): Promise<void> {
  const hf = await connect(url, { logger: silentLogger, limits: { opsMax: ops + 1 }, ...schema });
  await hf.worker({ workflows: [long] }).start();
  await hf.run(long, ops, { id: `long-${ops}` });
  for (let n = from; n < to; n += AT_ONCE)
    await hf.startMany(
      Array.from({ length: AT_ONCE }, (_, index) => ({
        workflow: "later",
        options: { id: `later-${n + index}`, delay: "1 day" as const },
      })),
    );
  await hf.start("later", undefined, { id: `newest-${to}`, delay: "1 day" });
  await hf.close();
  // A server does this by itself after some minutes; without statistics it takes the tables for small.
  if (postgres && url !== postgres && url.startsWith("postgres")) await asked(postgres, "analyze");
}

/** A dashboard whose calls of the store are counted, on a client that does nothing else. */
async function openBoard(url: string, schema: object, cost: Cost) {
  const hf = await connect(url, { logger: silentLogger, ...schema });
  countCalls(hf, cost);
  const board = dashboard(hf, { auth: "open" });
  const server = createServer(toNode(board));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await board.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await hf.close();
    },
  };
}

/** Every call of the store from now on, and the rows in its answers. */
function countCalls(hf: Client, cost: Cost): void {
  const { store } = clientStore(hf);
  for (const group of Object.values(store)) {
    if (typeof group !== "object" || group === null) continue;
    for (const [name, call] of Object.entries(group as Record<string, unknown>)) {
      if (typeof call !== "function") continue;
      (group as Record<string, unknown>)[name] = async (...params: unknown[]) => {
        const answer: unknown = await (call as (...all: unknown[]) => Promise<unknown>).apply(group, params);
        cost.calls += 1;
        cost.rows += rowsIn(answer);
        return answer;
      };
    }
  }
}

function rowsIn(answer: unknown): number {
  if (!Array.isArray(answer)) return answer === null || answer === undefined ? 0 : 1;
  return answer.reduce((sum: number, one: unknown) => sum + (Array.isArray(one) ? one.length : 1), 0);
}

/** A backend reports what it has read when it ends, so this waits for those of closed clients. SQLite has no such count. */
async function rowsRead(schema: string | undefined): Promise<number> {
  if (!postgres || !schema) return 0;
  const open = `select count(*) from pg_stat_activity where application_name = '${SCHEMA}'`;
  await vi.waitUntil(async () => (await asked(postgres, open)) === 0, { timeout: 15_000 });
  return asked(
    postgres,
    `select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0) from pg_stat_user_tables where schemaname = '${schema}'`,
  );
}

/** Its backends can be told from those of other tests. */
function named(server: string): string {
  const url = new URL(server);
  url.searchParams.set("application_name", SCHEMA);
  return url.toString();
}

async function asked(url: string, sql: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, string>>(sql);
    return Number(Object.values(rows[0] ?? {})[0] ?? 0);
  } finally {
    await client.end();
  }
}

function within(limits: Omit<Cost, "read">): (cost: Cost) => boolean {
  return (cost) => Object.entries(limits).every(([name, most]) => cost[name as keyof Cost] <= most);
}

function report(where: string, costs: Costs): void {
  for (const [page, cost] of Object.entries(costs)) process.stderr.write(`${where} ${page} ${JSON.stringify(cost)}\n`);
}
