// What a person has asked the system for: no motion, colors of their own. And what shows while an answer is on its way.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtPages } from "./built-pages.ts";
import { CHROMIUM, expectNoFaults, openBrowser, openPage } from "./chromium.ts";
import { openSite, type Site } from "./site.ts";

/** What the system draws with when a person has chosen the colors. */
interface Drawn {
  readonly background: string;
  readonly color: string;
  readonly border: string;
}

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let site: Site;

  beforeAll(async () => {
    await builtPages();
    [browser, site] = await Promise.all([openBrowser(), openSite()]);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  test("reduced motion stills everything, and without it only what is live moves", async () => {
    const page = await openPage(browser, `${site.url}default/runs/order-o-18`);
    await live(page);
    const moving = (): Promise<number> => page.evaluate(() => document.getAnimations().length);
    expect(await moving()).toBe(0);
    await page.emulateMedia({ reducedMotion: "no-preference" });
    expect(await moving()).toBe(1);
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(await moving()).toBe(0);
    await expectNoFaults(page);
    await page.context().close();
  });

  test("with forced colors the current page, the chosen tab, states and the timeline can still be told apart", async () => {
    const page = await openPage(browser, `${site.url}default/runs/order-o-18`);
    await live(page);
    await page.emulateMedia({ forcedColors: "active" });
    const links = page.getByRole("navigation").first().getByRole("link");
    const current = await drawn(page, links.and(page.locator("[aria-current]")).first());
    const others = await drawn(page, links.and(page.locator(":not([aria-current])")).first());
    expect(current.background).not.toBe(others.background);
    const tabs = page.getByRole("tab");
    const chosen = await drawn(page, tabs.and(page.locator("[aria-selected=true]")));
    const unchosen = await drawn(page, tabs.and(page.locator("[aria-selected=false]")).first());
    expect(chosen).not.toEqual(unchosen);
    const canvasText = await systemColor(page, "CanvasText");
    const icon = page.getByRole("main").locator("svg").first();
    expect([canvasText, await systemColor(page, "LinkText")]).toContain((await drawn(page, icon)).color);
    // Bars are drawn by us, with colors of the system: never on a background of the same color.
    const inks = await page
      .locator("canvas")
      .first()
      .evaluate((canvas: HTMLCanvasElement) => {
        const pixels = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
        const found = new Set<string>();
        for (let i = 0; i < pixels.length; i += 4)
          if (pixels[i + 3] === 255) found.add(`rgb(${pixels[i]}, ${pixels[i + 1]}, ${pixels[i + 2]})`);
        return [...found];
      });
    expect(inks).toContain(canvasText);
    await expectNoFaults(page);
    await page.context().close();
  });

  test("while an answer is on its way there are gray rows, which have lines with forced colors, and it is announced as loading", async () => {
    const page = await openPage(browser, "about:blank");
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/\/api\/default\/runs\?/, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${site.url}default/runs?workflow=order`);
    const loading = page.getByRole("main").getByRole("status").filter({ hasText: "Loading" });
    await loading.waitFor();
    const rows = loading.locator("i");
    await rows.first().waitFor();
    expect((await drawn(page, rows.first())).border).toMatch(/^0px /);
    await page.emulateMedia({ forcedColors: "active" });
    expect((await drawn(page, rows.first())).border).toMatch(/^1px /);
    answer();
    await page.getByRole("link", { name: "order-o-2", exact: true }).waitFor();
    expect(await loading.count()).toBe(0);
    await expectNoFaults(page);
    await page.context().close();
  });
});

async function live(page: Page): Promise<void> {
  await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
}

async function drawn(page: Page, what: ReturnType<Page["locator"]>): Promise<Drawn> {
  await page.evaluate(() => new Promise(requestAnimationFrame));
  return await what.evaluate((element) => {
    const { backgroundColor, color, borderBottomColor, borderBottomWidth } = getComputedStyle(element);
    return { background: backgroundColor, color, border: `${borderBottomWidth} ${borderBottomColor}` };
  });
}

async function systemColor(page: Page, name: string): Promise<string> {
  return await page.evaluate((color) => {
    const probe = document.body.appendChild(document.createElement("span"));
    probe.style.color = color;
    const { color: computed } = getComputedStyle(probe);
    probe.remove();
    return computed;
  }, name);
}
