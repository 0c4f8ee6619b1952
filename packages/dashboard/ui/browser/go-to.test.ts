// The box that "/" opens.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtPages } from "./built-pages.ts";
import { CHROMIUM, openBrowser, openPage } from "./chromium.ts";
import { openSite, type Site } from "./site.ts";

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let site: Site;

  beforeAll(async () => {
    await builtPages();
    [browser, site] = await Promise.all([openBrowser(), openSite()]);
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  }, 30_000);

  test("it keeps what is typed before it is there, and leads to no page that does not exist", async () => {
    const page = await openPage(browser, `${site.url}default/workers`);
    await page.getByRole("heading", { name: "Workers" }).first().waitFor();
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route(/go-to[^/]*\.js/, async (route) => {
      await held;
      await route.continue();
    });
    await page.keyboard.type("/order-o");
    letGo();
    const field = page.getByRole("dialog", { name: "Go to" }).getByLabel("Run, workflow or schedule");
    await field.waitFor();
    await expect.poll(() => field.inputValue()).toBe("order-o");
    await expect.poll(() => field.evaluate((input) => input === document.activeElement)).toBe(true);
    await page.keyboard.press("Enter");
    await page.getByText("No run has the id “order-o”").waitFor();
    await page.keyboard.type("-2");
    expect(await field.inputValue()).toBe("order-o-2");
    await page.keyboard.press("Enter");
    await page.getByRole("tab", { name: "Timeline" }).waitFor();
    await page.context().close();
  });
});
