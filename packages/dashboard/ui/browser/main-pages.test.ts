// The overview, the list of runs and the page of a run, in a real browser on a real server.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtPages } from "./built-pages.ts";
import { axeFindings, CHROMIUM, expectNoFaults, expectNoSideScroll, openBrowser, openPage } from "./chromium.ts";
import { openSite, type Site } from "./site.ts";
import { approve, HOSTILE } from "./site-workflows.ts";

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let site: Site;
  let empty: Site;

  beforeAll(async () => {
    await builtPages();
    [browser, site, empty] = await Promise.all([openBrowser(), openSite(), openSite({ empty: true, base: "/" })]);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    await empty?.close();
  });

  const PAGES = [
    ["default", "Overview"],
    ["default/runs", "Runs"],
    ["default/runs/order-o-18", "order-o-18"],
    ["default/runs/order-o-18?op=charge", "order-o-18"],
    ["default/runs/order-o-18?table=1", "order-o-18"],
    ["default/runs/order-o-2?tab=events&event=4", "order-o-2"],
    ["default/runs/order-o-2?tab=data", "order-o-2"],
    ["default/runs/order-o-2?tab=relations", "order-o-2"],
    ["default/runs/order-o-2?tab=compensation", "order-o-2"],
    ["default/runs/order-o-2?tab=compare", "order-o-2"],
    ["default/runs/order-o-6?tab=audit", "order-o-6"],
  ] as const;

  test.each(PAGES)(
    "%s: data, one heading, its title, axe in light and dark, 390 px and 320 px",
    async (path, heading) => {
      const page = await openPage(browser, site.url + path);
      await settled(page);
      expect(await page.locator("h1").allTextContents()).toEqual([heading]);
      expect(await page.title()).toBe(`${heading} · Holdfast`);
      expect(await axeFindings(page)).toEqual([]);
      await page.getByRole("button", { name: "Theme" }).click();
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 800 });
        await expectNoSideScroll(page);
      }
      expect(await axeFindings(page)).toEqual([]);
      await expectNoFaults(page);
      await page.context().close();
    },
  );

  test("an empty store says what to type", async () => {
    const page = await openPage(browser, `${empty.url}`);
    await page.getByText("Nothing has run here yet").waitFor();
    expect(new URL(page.url()).pathname).toBe("/default");
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByText("No runs yet").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.goto(`${empty.url}default/runs/nothing`);
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("nothing");
    await page.context().close();
  });

  test("what fails says so and can be tried again; what was there stays", async () => {
    const page = await openPage(browser, `${site.url}default/runs?workflow=order`);
    await settled(page);
    await page.route("**/api/**", (route) =>
      route.fulfill({ status: 503, json: { code: "unavailable", kind: "x", message: "The store is away." } }),
    );
    await page.getByRole("link", { name: "order-o-18" }).click();
    await page.getByText("The store is away.").first().waitFor();
    await page.unroute("**/api/**");
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByRole("region", { name: "Why it waits" }).waitFor();
    await page.context().close();
  });

  test("a signal sent from elsewhere shows without a reload", async () => {
    const page = await openPage(browser, `${site.url}default/runs/order-o-18`);
    await page.getByRole("region", { name: "Why it waits" }).waitFor();
    await page.evaluate(() => Object.assign(globalThis, { __same: true }));
    await site.hf.get("order-o-18").signal(approve, { by: "bob" });
    await page.getByRole("region", { name: "How it ended" }).waitFor();
    expect(await page.evaluate(() => (globalThis as { __same?: boolean }).__same)).toBe(true);
    await page.context().close();
  });

  test("new runs wait behind a button, and rows change in place", async () => {
    const page = await openPage(browser, `${site.url}default/runs`);
    await settled(page);
    // Which run it is: how long it has waited is another text each second.
    const first = page.locator("[role=row][data-index='0']").getByRole("link").first();
    const before = await first.getAttribute("href");
    await site.hf.start("order", { id: "late", cents: 1, ending: "complete" }, { id: "late-1" });
    const button = page.getByRole("button", { name: /^Show \d+ new runs?$/ });
    await button.waitFor();
    expect(await first.getAttribute("href")).toBe(before);
    await button.click();
    await page.getByRole("link", { name: "late-1" }).waitFor();
    await page.context().close();
  });

  test("with the keyboard alone: find a run, cancel it with a reason", async () => {
    const page = await openPage(browser, `${site.url}default/runs?workflow=order&status=sleeping`);
    await settled(page);
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("1 selected").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("tab", { name: "Timeline" }).waitFor();
    await page.getByRole("button", { name: "Cancel…" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/compensations? will run/).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expect(await dialog.getByRole("button", { name: "Cancel run" }).isDisabled()).toBe(true);
    await page.getByLabel("Reason").focus();
    await page.keyboard.type("duplicate");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "How it ended" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.context().close();
  });

  test("terminating asks for the id", async () => {
    const page = await openPage(browser, `${site.url}default/runs/order-o-9`, { role: "writer" });
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Terminate…" }).click();
    const button = page.getByRole("button", { name: "Terminate run" });
    await page.getByLabel("Reason").fill("test data");
    expect(await button.isDisabled()).toBe(true);
    await page.getByLabel(/Type the id/).fill("order-o-9");
    await button.click();
    await page.getByText("terminated", { exact: true }).first().waitFor();
    await page.context().close();
  });

  test("readers see no action buttons", async () => {
    const page = await openPage(browser, `${site.url}default/runs/order-o-4`, { role: "reader" });
    await page.getByRole("tab", { name: "Timeline" }).waitFor();
    expect(await page.getByRole("button", { name: /Cancel|Signal|Pause|More|Retry/ }).count()).toBe(0);
    await page.goto(`${site.url}default/runs`);
    await settled(page);
    expect(await page.getByRole("button", { name: /Start a run|Save view/ }).count()).toBe(0);
    expect(await page.getByRole("checkbox").count()).toBe(0);
    await page.context().close();
  });

  test("hostile texts stay texts on every page: no report of the policy, no script", async () => {
    const page = await openPage(browser, `${site.url}default/runs?workflow=hostile`);
    await settled(page);
    const links = await page
      .locator("[role=row] a")
      .evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
    expect(links).toHaveLength(HOSTILE.length);
    for (const href of links.slice(0, 3)) {
      for (const tab of ["timeline&op=echo", "events&event=2", "data", "relations"]) {
        await page.goto(`${href}?tab=${tab}`);
        await page.getByRole("tabpanel").waitFor();
        await settled(page);
      }
    }
    expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
    await expectNoFaults(page);
    await page.context().close();
  });

  test("a filter as text says where it is wrong, and is in the URL", async () => {
    const page = await openPage(browser, `${site.url}default/runs`);
    await page.getByRole("button", { name: "As text" }).click();
    const field = page.getByLabel("Filter as text");
    await field.fill("status:failed AND (workflow:order");
    await page.getByText(/character \d+/).waitFor();
    await field.fill("status:failed AND (workflow:order OR id:nothing)");
    await field.press("Enter");
    await page.waitForURL(/q=status/);
    await page.getByRole("link", { name: "order-o-2", exact: true }).waitFor();
    await page.context().close();
  });

  test("three thousand ops: few elements, at most two requests for the timeline, and windows of 200 events", async () => {
    const asked: string[] = [];
    const page = await openPage(browser, "about:blank");
    page.on("request", (request) => asked.push(new URL(request.url()).pathname.split("/").slice(-1)[0] ?? ""));
    await page.goto(`${site.url}default/runs/many`);
    await page.getByRole("list", { name: "Ops" }).waitFor();
    expect(asked.filter((name) => name === "timeline").length).toBeLessThanOrEqual(2);
    expect(await page.locator("*").count()).toBeLessThan(900);
    await page.goto(`${site.url}default/runs/many?tab=events`);
    await page.getByText("step_completed").or(page.getByText("side_effect")).first().waitFor();
    expect(asked.filter((name) => name === "events").length).toBeLessThanOrEqual(3);
    expect(await page.locator("*").count()).toBeLessThan(900);
    await page.context().close();
  });

  /** Nothing is loading any more. */
  async function settled(page: Page): Promise<void> {
    await page.locator("h1").first().waitFor();
    await page.waitForFunction(
      () => document.querySelector("main [role=status] .vh") === null || !document.body.innerText.includes("Loading"),
    );
    await page.waitForLoadState("load");
    await page.waitForFunction(
      () => document.querySelectorAll("main [role=row], main [role=tabpanel], main h2").length > 0,
    );
  }
});
