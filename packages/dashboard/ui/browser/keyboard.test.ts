// Everything that can be pressed on a page is reached with Tab alone, is seen to have the focus, and keeps nobody in.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtPages } from "./built-pages.ts";
import { CHROMIUM, openBrowser, openPage } from "./chromium.ts";
import { openScene, type Scene } from "./further-scene.ts";
import { openSite, type Site } from "./site.ts";

const OF_SITE = [
  "",
  "runs?workflow=order&status=failed",
  "runs?q=status:failed",
  "runs/order-o-2?op=charge",
  "runs/order-o-2?table=1",
  "runs/order-o-2?tab=events&event=4",
  "runs/order-o-2?tab=data",
  "runs/order-o-2?tab=relations",
  "runs/order-o-2?tab=compensation",
  "runs/order-o-2?tab=compare",
  "runs/order-o-6?tab=audit",
];
const OF_SCENE = [
  "grid?workflow=report",
  "compare?a=order-o-1&b=order-o-4",
  "schedules",
  "schedules/settle-books",
  "queues?queue=mail",
  "workers",
  "tasks",
  "workflows",
  "workflows/order",
  "parked",
  "audit",
  "settings",
];
/** More presses than this, and something goes round. */
const PRESSES_MAX = 400;

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let site: Site;
  let scene: Scene;

  beforeAll(async () => {
    await builtPages();
    [browser, site, scene] = await Promise.all([openBrowser(), openSite(), openScene()]);
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await Promise.all([site?.close(), scene?.close()]);
  });

  test.each([...OF_SITE.map((path) => ["site", path]), ...OF_SCENE.map((path) => ["scene", path])] as const)(
    "%s %s",
    async (where, path) => {
      const url = where === "site" ? `${site.url}default/${path}` : scene.page("admin", path ?? "");
      const page = await openPage(browser, url);
      await page.locator("h1").first().waitFor();
      await page.waitForLoadState("networkidle").catch(() => {});
      await page
        .locator("main :is([role=cell], h2, [role=tabpanel], [role=grid], input)")
        .filter({ visible: true })
        .first()
        .waitFor();
      expect(await walk(page)).toEqual({ missed: [], unseen: [], left: true });
      await page.context().close();
    },
  );
});

interface Walk {
  /** What Tab does not come to. */
  readonly missed: readonly string[];
  /** What has the focus without showing it. */
  readonly unseen: readonly string[];
  /** Whether Tab leads out again. */
  readonly left: boolean;
}

async function walk(page: Page): Promise<Walk> {
  await page.evaluate(() => {
    const all = document.querySelectorAll<HTMLElement>(
      "main :is(a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, [tabindex='0'])",
    );
    const wanted = [...all].filter((each) => each.tabIndex >= 0 && each.checkVisibility());
    Object.assign(globalThis, { __wanted: new Set(wanted), __unseen: [] });
    document.getElementById("main")?.focus();
  });
  let left = false;
  for (let press = 0; press < PRESSES_MAX && !left; press++) {
    await page.keyboard.press("Tab");
    left = await page.evaluate(() => {
      const { __wanted, __unseen } = globalThis as unknown as { __wanted: Set<Element>; __unseen: string[] };
      const at = document.activeElement;
      if (at === null || at.closest("main") === null || at.id === "main") return true;
      __wanted.delete(at);
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      if (outlineStyle === "none" || outlineWidth === "0px") __unseen.push(at.outerHTML.slice(0, 120));
      return false;
    });
  }
  return await page.evaluate((out) => {
    const { __wanted, __unseen } = globalThis as unknown as { __wanted: Set<Element>; __unseen: string[] };
    // What a live update has replaced meanwhile is no part of the page any more.
    const missed = [...__wanted].filter((each) => each.isConnected).map((each) => each.outerHTML.slice(0, 120));
    return { missed, unseen: __unseen, left: out };
  }, left);
}
