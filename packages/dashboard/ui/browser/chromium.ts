// The browser of the tests, and what they ask it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
// The browser is found by a script that runs before anything is built.
import { findOrUnpackChromium } from "../../../../scripts/chromium-binary.mjs";

export const CHROMIUM = findOrUnpackChromium();

export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: CHROMIUM.program ?? "",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
}

export interface Look {
  readonly width?: number;
  readonly dark?: boolean;
  readonly role?: "reader" | "writer" | "admin";
}

/** Violations of the content security policy and exceptions of scripts, by page. */
const faults = new WeakMap<Page, string[]>();

export async function openPage(browser: Browser, url: string, look: Look = {}): Promise<Page> {
  const context: BrowserContext = await browser.newContext({
    viewport: { width: look.width ?? 1280, height: 900 },
    colorScheme: look.dark ? "dark" : "light",
    reducedMotion: "reduce",
    locale: "en-US",
    timezoneId: "UTC",
  });
  if (look.role !== undefined) await context.addCookies([{ name: "role", value: look.role, url: new URL(url).origin }]);
  const page = await context.newPage();
  const found: string[] = [];
  faults.set(page, found);
  page.on("pageerror", (error) => found.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted Type/i.test(message.text())) found.push(message.text());
  });
  page.setDefaultTimeout(15_000);
  await page.goto(url);
  return page;
}

/** No violation of the policy, no exception, and no script of a payload has run. */
export async function expectNoFaults(page: Page): Promise<void> {
  expect(faults.get(page)).toEqual([]);
  expect(await page.evaluate(() => (globalThis as { __hacked?: number }).__hacked)).toBeUndefined();
}

let axe: string | undefined;

/** Everything that axe finds wrong, contrast included. */
export async function axeFindings(page: Page): Promise<string[]> {
  axe ??= readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  // Through the protocol, which the page's policy does not concern.
  await page.evaluate(axe);
  return await page.evaluate(async () => {
    interface Axe {
      run(
        where: Document,
        options: object,
      ): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
    }
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run(document, {
      resultTypes: ["violations"],
    });
    return violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary}`),
    );
  });
}

/** Nothing sticks out to the right. */
export async function expectNoSideScroll(page: Page): Promise<void> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide).toBeLessThanOrEqual(0);
}
