// The overview, the list and the tabs of a run when the server fails, when there is nothing, and as a reader sees them; times in other zones.
import { workflow } from "holdfast";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtPages } from "./built-pages.ts";
import { axeFindings, CHROMIUM, expectNoFaults, expectNoSideScroll, openBrowser, openPage } from "./chromium.ts";
import { openSite, type Site } from "./site.ts";

interface Case {
  readonly path: string;
  /** Where its data comes from. */
  readonly api: RegExp;
  readonly shows: (page: Page) => Locator;
  /** What the same page says of a run to which nothing has happened. */
  readonly empty?: string;
}

const tab = (name: string) => (page: Page) => page.getByRole("tabpanel").getByRole("table", { name });
const run = (what: string) => new RegExp(`/api/default/runs/[^/]+/${what}(\\?|$)`);

const PAGES: readonly Case[] = [
  { path: "", api: /\/api\/default\/overview/, shows: (page) => page.getByRole("region", { name: "Runs by state" }) },
  {
    path: "runs?workflow=order",
    api: /\/api\/default\/runs\?/,
    shows: (page) => page.getByRole("link", { name: "order-o-2", exact: true }),
  },
  {
    path: "runs/order-o-2",
    api: /\/api\/default\/runs\/order-o-2(\?|$)/,
    shows: (page) => page.getByRole("region", { name: "How it ended" }),
  },
  {
    path: "runs/order-o-2",
    api: run("timeline"),
    shows: (page) => page.getByRole("list", { name: "Ops" }),
    empty: "No ops yet",
  },
  {
    path: "runs/order-o-2?tab=events",
    api: run("events"),
    shows: (page) => page.getByText("run_failed"),
    empty: "run_started",
  },
  { path: "runs/order-o-2?tab=data", api: run("data"), shows: (page) => page.getByRole("region", { name: "Input" }) },
  { path: "runs/order-o-2?tab=relations", api: run("relations"), shows: tab("Children"), empty: "No relations" },
  { path: "runs/order-o-2?tab=compensation", api: run("compensation"), shows: tab("Done"), empty: "No compensations" },
  {
    path: "runs/order-o-2?tab=compare",
    api: /\/api\/default\/runs\?/,
    shows: tab("Recent runs"),
    empty: "No other run of later",
  },
  {
    path: "runs/order-o-6?tab=audit",
    api: run("audit"),
    shows: tab("Audit"),
    empty: "Nobody did anything to this run",
  },
];

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let site: Site;

  beforeAll(async () => {
    await builtPages();
    [browser, site] = await Promise.all([openBrowser(), openSite()]);
    await site.hf.start("later", undefined, { id: "fresh", delay: "1 day" });
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  for (const { path, api, shows, empty } of PAGES) {
    const name = `${path === "" ? "overview" : path} (${api.source.split("\\/").at(-1)})`;

    test(`${name}: an error says what happened, and Try again reads once more`, async () => {
      const page = await openPage(browser, "about:blank");
      const json = { code: "bad_request", kind: "BadRequest", message: "The store is on fire." };
      await page.route(api, (route) => route.fulfill({ status: 400, json }));
      // A hint would make the page read again by itself.
      await page.route(/\/live\?/, (route) =>
        route.fulfill({ status: 200, contentType: "text/event-stream", body: "" }),
      );
      await page.goto(`${site.url}default/${path}`);
      await page.getByRole("alert").getByText("The store is on fire.").first().waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await page.unroute(api);
      await page.getByRole("button", { name: "Try again" }).first().dispatchEvent("click");
      await shows(page).first().waitFor();
      await page.context().close();
    });

    test(`${name}: a reader sees the data and no action`, async () => {
      const page = await openPage(browser, `${site.url}default/${path}`, { role: "reader" });
      await shows(page).first().waitFor();
      const names = await page.getByRole("main").getByRole("button").allTextContents();
      expect(names.filter((one) => one.includes("…"))).toEqual([]);
      await expectNoFaults(page);
      await page.context().close();
    });

    if (empty !== undefined)
      test(`${name}: says so where there is nothing`, async () => {
        const page = await openPage(browser, `${site.url}default/${path.replace(/order-o-\d/, "fresh")}`);
        await page.getByRole("tabpanel").getByText(empty).first().waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await page.context().close();
      });
  }

  test("on call: from the overview to the run that failed, why, and the button that makes it go on", async () => {
    let away = true;
    const bank = workflow("bank", async (ctx) =>
      ctx.step("call", () => (away ? Promise.reject(new Error("the bank is away")) : "paid"), { retry: "none" }),
    );
    await site.hf.worker({ workflows: [bank] }).start();
    const run = await site.hf.start(bank, undefined, { id: "bank-1" });
    await expect(run.result()).rejects.toThrow("the bank is away");
    const page = await openPage(browser, `${site.url}default`, { role: "writer" });
    const row = page.getByRole("table", { name: "Failures" }).getByRole("row", { name: /the bank is away/ });
    await row.getByRole("link", { name: "Error" }).click();
    await page.waitForURL(/workflow=bank/);
    await page
      .getByRole("row", { name: /bank-1/ })
      .getByText("call: the bank is away")
      .waitFor();
    await page.getByRole("link", { name: "bank-1" }).click();
    const strip = page.getByRole("region", { name: "How it ended" });
    await strip.getByText("Failed in call: the bank is away.").waitFor();
    away = false;
    await strip.getByRole("button", { name: "Retry run" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Retry run" }).click();
    await strip.getByText("Completed.").waitFor();
    await page.getByRole("region", { name: "Latest events" }).getByText("run_completed").waitFor();
    await expectNoFaults(page);
    await page.context().close();
  });

  test("on a phone the button Menu leads to the time zone and to who is there, too", async () => {
    const page = await openPage(browser, `${site.url}default/runs?workflow=order`, { width: 390 });
    await page
      .getByRole("link", { name: /^order-o-/ })
      .first()
      .waitFor();
    const zone = page.getByRole("button", { name: /time zone/ });
    expect(await zone.count()).toBe(0);
    await page.getByRole("button", { name: "Menu" }).click();
    for (const name of [/namespace/, /ann · admin/]) await page.getByRole("button", { name }).waitFor();
    await expectNoSideScroll(page);
    expect(await axeFindings(page)).toEqual([]);
    await zone.click();
    await page.getByRole("menuitem", { name: "Local time" }).click();
    await page.getByRole("button", { name: "Local time zone" }).waitFor();
    await page.context().close();
  });

  test("rows are dense unless somebody wants them comfortable, which stays", async () => {
    const page = await openPage(browser, `${site.url}default/runs?workflow=order`);
    const row = page.getByRole("row", { name: /order-o-2/ }).first();
    const height = async () => Math.round((await row.boundingBox())?.height ?? 0);
    await row.waitFor();
    expect(await height()).toBe(33);
    await page.getByRole("button", { name: "ann · admin" }).click();
    await page.getByRole("menuitem", { name: "Comfortable rows" }).click();
    await page.locator("html[data-rows=comfortable]").waitFor();
    expect(await height()).toBe(41);
    await page.reload();
    await row.waitFor();
    expect(await height()).toBe(41);
    await expectNoFaults(page);
    await page.context().close();
  });

  test("times are shown in UTC, in local time or in any zone; the choice stays, and machines read the same", async () => {
    const page = await openPage(browser, `${site.url}default/runs/order-o-2?tab=audit`);
    const time = page.locator("main time[title]").first();
    await time.waitFor();
    const iso = (await time.getAttribute("datetime")) ?? "";
    const shown = (zone: string) =>
      new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
      }).format(new Date(iso));
    expect(await time.textContent()).toContain(shown("UTC"));
    await page.getByRole("button", { name: /time zone/ }).click();
    await page.getByRole("menuitem", { name: "Another zone…" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("Asia/Tokyo");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    expect(await time.textContent()).toContain(shown("Asia/Tokyo"));
    await page.reload();
    await time.waitFor();
    expect(await time.textContent()).toContain(shown("Asia/Tokyo"));
    expect(await time.getAttribute("datetime")).toBe(iso);
    await page.context().close();
  });
});
