// Whatever a store can keep may want to be more than text: names, ids, reasons, errors, values. Every page shows it, and nothing comes of it.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Client, connect, NonRetryableError, signal, silentLogger, task, workflow } from "holdfast";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Dashboard, dashboard } from "../../src/index.ts";
import { toNode } from "../../src/node.ts";
import { builtPages } from "./built-pages.ts";
import { CHROMIUM, expectNoFaults, openBrowser, openPage } from "./chromium.ts";

const BAD = `<img src=x onerror="globalThis.__hacked=1">\u202e"'</script>{{x}}`;
const bad = (what: string): string => `${what} ${BAD}`;
const go = signal<string>(bad("signal"));
const outside = task<string, string>({ name: bad("task"), queue: bad("tasks"), external: true });
const child = workflow(bad("child"), async (ctx) => ctx.step(bad("inner"), () => BAD));

const flow = workflow(
  { name: bad("workflow"), version: bad("v"), queue: bad("queue") },
  async (ctx, input: { readonly text: string; readonly end: boolean }) => {
    await ctx.step(bad("step"), () => ({ [BAD]: input.text, __proto__: null }), {
      compensate: () => Promise.reject(new NonRetryableError(bad("undone"))),
      retry: "none",
    });
    ctx.set({ tenant: BAD });
    await ctx.sleep(bad("sleep"), "1ms");
    await ctx.child(child, undefined);
    if (input.end) throw failure("failed");
    await Promise.all([ctx.receive(go), ctx.task(outside, BAD)]);
  },
);

function failure(what: string): Error {
  const error = Object.assign(new Error(bad(what), { cause: new Error(bad("cause")) }), { code: BAD });
  error.name = BAD;
  error.stack = `${BAD}\n    at ${BAD} (${BAD}:1:1)`;
  return error;
}

const part = encodeURIComponent;
const PAGES = [
  "",
  "runs",
  `runs?workflow=${part(bad("workflow"))}&error=${part(BAD)}`,
  `runs?q=${part(JSON.stringify(BAD))}`,
  ...["failed", "waits"].flatMap((id) =>
    ["timeline", "events", "data", "relations", "compensation", "compare", "audit"].map(
      (tab) => `runs/${part(bad(id))}?tab=${tab}`,
    ),
  ),
  `runs/${part(bad("failed"))}?op=${part(bad("step"))}`,
  `runs/${part(bad("failed"))}?tab=events&event=2`,
  `grid?workflow=${part(bad("workflow"))}`,
  `compare?a=${part(bad("failed"))}&b=${part(bad("waits"))}`,
  "schedules",
  `schedules/${part(bad("schedule"))}`,
  `queues?queue=${part(bad("queue"))}`,
  "workers",
  "tasks",
  "workflows",
  `workflows/${part(bad("workflow"))}`,
  "parked",
  "audit",
  "settings",
];

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let hf: Client;
  let board: Dashboard;
  let server: Server;
  let url = "";

  beforeAll(async () => {
    await builtPages();
    [browser, hf] = await Promise.all([openBrowser(), connect("memory:", { logger: silentLogger })]);
    board = dashboard(hf, { auth: () => ({ user: BAD, role: "admin", namespaces: ["*"], payloads: "full" }) });
    server = createServer(toNode(board));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await fill(hf);
    const headers = { "content-type": "application/json", "x-holdfast-csrf": "1", origin: url };
    const body = JSON.stringify({ name: bad("view"), search: `status=failed&workflow=${part(BAD)}` });
    const saved = await fetch(`${url}/api/default/views/save`, { method: "POST", headers, body });
    expect(saved.status).toBe(200);
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await board?.close();
    server?.closeAllConnections();
    server?.close();
    await hf?.close();
  });

  test("no page makes anything of it, and no character turns the text around it", async () => {
    const page = await openPage(browser, "about:blank");
    const found: string[][] = [];
    for (const path of PAGES) {
      await page.goto(`${url}/default/${path}`);
      await page.locator("h1").first().waitFor();
      await page.waitForLoadState("networkidle").catch(() => {});
      await page
        .locator("main :is([role=cell], h2, [role=tabpanel], [role=grid], input)")
        .filter({ visible: true })
        .first()
        .waitFor();
      const left = await traces(page);
      if (left.length > 0) found.push([decodeURIComponent(path), ...left]);
      await expectNoFaults(page);
    }
    expect(found).toEqual([]);
    await page.context().close();
  }, 120_000);
});

/** Elements that a text has become, and characters that are shown as they are. */
async function traces(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const found = [...document.querySelectorAll("#root :is(img, script, iframe, object, [onerror], [srcdoc])")];
    const turned = document.body.innerText.includes("\u202e") || document.title.includes("\u202e") ? ["\\u202e"] : [];
    const named = [...document.querySelectorAll("#root *")].filter((each) =>
      ["title", "aria-label", "class", "style"].some((name) => each.getAttribute(name)?.includes("\u202e")),
    );
    const schemes = [...document.querySelectorAll("#root a[href]")].filter(
      (each) => !["http:", "https:"].includes((each as HTMLAnchorElement).protocol),
    );
    return [...turned, ...[...found, ...named, ...schemes].map((each) => each.outerHTML.slice(0, 200))];
  });
}

async function fill(hf: Client): Promise<void> {
  const queues = [bad("queue"), "default", bad("tasks")];
  await hf.worker({ workflows: [flow, child], name: bad("worker"), labels: { zone: BAD }, queues }).start();
  await hf.queues.set(bad("queue"), { concurrency: 5, perKey: { concurrency: 4 } });
  const who = { by: BAD, reason: bad("reason") };
  const start = (id: string, end = false) =>
    hf.start(flow, { text: BAD, end }, { id: bad(id), key: BAD, attributes: { note: BAD } });
  await start("failed", true);
  for (const id of ["waits", "paused", "canceled"]) await start(id);
  const until = async (id: string, status: string): Promise<void> =>
    vi.waitFor(async () => expect(await hf.get(bad(id)).status()).toBe(status), { timeout: 20_000 });
  await until("failed", "failed");
  for (const id of ["waits", "paused", "canceled"]) await until(id, "waiting");
  await hf.get(bad("paused")).pause(who);
  await hf.get(bad("canceled")).terminate(who);
  const schedule = await hf.schedules.create({
    id: bad("schedule"),
    workflow: child,
    cron: "0 3 * * *",
  });
  await (await schedule.trigger()).result();
  await schedule.pause({ note: bad("note"), by: BAD });
}
