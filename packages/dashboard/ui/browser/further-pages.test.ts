/** Every further page in a real browser: with data, light and dark, at 390 px, as a reader, empty, and when the server fails. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtPages } from "./built-pages.ts";
import { axeFindings, CHROMIUM, expectNoFaults, expectNoSideScroll, openBrowser, openPage } from "./chromium.ts";
import { openScene, type Scene } from "./further-scene.ts";

interface Case {
  readonly path: string;
  readonly h1: string;
  /** Is there once the data is. */
  readonly shows: (page: Page) => Locator;
  /** What an empty store shows; left out: the page needs something that exists. */
  readonly empty?: string;
  /** Where its data comes from. */
  readonly api: string;
  /** What a reader is told instead; left out: readers see the page. */
  readonly refused?: string;
}

const button = (name: string) => (page: Page) => page.getByRole("button", { name, exact: true });
const link = (name: string) => (page: Page) => page.getByRole("link", { name, exact: true }).first();
const text = (words: string) => (page: Page) => page.getByText(words).first();

const PAGES: readonly Case[] = [
  {
    path: "grid?workflow=order",
    h1: "Grid",
    shows: (page) => page.getByRole("grid", { name: "Runs and their ops" }),
    empty: "There are no workflows yet",
    api: "grid",
  },
  { path: "compare?a=order-o-1&b=order-o-4", h1: "Compare", shows: text("They part at validate"), api: "compare" },
  {
    path: "schedules",
    h1: "Schedules",
    shows: link("nightly-report"),
    empty: "There are no schedules",
    api: "schedules",
  },
  {
    path: "schedules/nightly-report",
    h1: "nightly-report",
    shows: text("Wednesday 18 November"),
    api: "schedules/nightly-report",
  },
  {
    path: "queues?queue=mail",
    h1: "Queues & limits",
    shows: text("Runs that have a place"),
    empty: "There are no queues yet",
    api: "queues",
  },
  {
    path: "workers",
    h1: "Workers",
    shows: button("eu-1"),
    empty: "No worker has been here in the last day",
    api: "workers",
  },
  { path: "tasks", h1: "Tasks", shows: button("approve"), empty: "No task is open", api: "tasks" },
  {
    path: "workflows",
    h1: "Workflows",
    shows: link("order"),
    empty: "No worker has offered a workflow yet",
    api: "workflows",
  },
  {
    path: "workflows/order",
    h1: "order",
    shows: text("it is the canary of 5 % of the starts"),
    api: "workflows/order",
  },
  {
    path: "parked",
    h1: "Parked",
    shows: text("The code does not match the history"),
    empty: "Nothing is parked",
    api: "parked",
  },
  {
    path: "audit",
    h1: "Audit",
    shows: (page) => page.getByLabel("Filter by who"),
    empty: "Nobody has done anything yet",
    api: "audit",
    refused: "This needs the role admin; yours is reader.",
  },
  {
    path: "settings",
    h1: "Settings",
    shows: text("Retention"),
    empty: "Runs that have ended are kept forever.",
    api: "settings",
  },
];

const CALENDAR_DAY = "schedules/nightly-report?month=2026-11&day=2026-11-18";
const pathOf = ({ path }: Case) => (path === "schedules/nightly-report" ? CALENDAR_DAY : path);

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let scene: Scene;
  let nothing: Scene;

  beforeAll(async () => {
    await builtPages();
    [browser, scene, nothing] = await Promise.all([openBrowser(), openScene(), openScene(false)]);
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await Promise.all([scene?.close(), nothing?.close()]);
  });

  for (const one of PAGES) {
    const { path, h1, shows, empty, api, refused } = one;

    test(`${path}: title, heading and data, without a complaint of axe, light and dark`, async () => {
      for (const dark of [false, true]) {
        const page = await openPage(browser, scene.page("admin", pathOf(one)), { dark });
        await shows(page).waitFor();
        expect(await page.title()).toBe(`${h1} · Holdfast`);
        expect(await page.getByRole("heading", { level: 1 }).allTextContents()).toEqual([h1]);
        expect(await axeFindings(page)).toEqual([]);
        await expectNoFaults(page);
        await page.context().close();
      }
    });

    test(`${path}: fits 390 px and 320 px, and axe has no complaint there`, async () => {
      const page = await openPage(browser, scene.page("admin", pathOf(one)), { width: 390 });
      await shows(page).waitFor();
      await expectNoSideScroll(page);
      expect(await axeFindings(page)).toEqual([]);
      await page.setViewportSize({ width: 320, height: 800 });
      await expectNoSideScroll(page);
      await page.context().close();
    });

    test(`${path}: a reader sees ${refused === undefined ? "the data" : "why there is none"} and no action`, async () => {
      const page = await openPage(browser, scene.page("reader", pathOf(one)));
      await (refused === undefined ? shows(page) : page.getByText(refused).first()).waitFor();
      const names = await page.getByRole("main").getByRole("button").allTextContents();
      expect(names.filter((name) => name.includes("…"))).toEqual([]);
      await expectNoFaults(page);
      await page.context().close();
    });

    test(`${path}: an error says what happened, and Try again reads once more`, async () => {
      const page = await openPage(browser, "about:blank");
      const failing = new RegExp(`/api/default/${api}(\\?|$)`);
      await page.route(failing, (route) =>
        route.fulfill({
          status: 400,
          json: { code: "bad_request", kind: "BadRequest", message: "The store is on fire." },
        }),
      );
      // A hint would make the page read again by itself.
      await page.route(/\/live\?/, (route) => route.abort());
      await page.goto(scene.page(refused === undefined ? "reader" : "admin", pathOf(one)));
      await page.getByRole("alert").getByText("The store is on fire.").first().waitFor();
      await page.unroute(failing);
      await page.getByRole("button", { name: "Try again" }).first().dispatchEvent("click");
      await shows(page).waitFor();
      await page.context().close();
    });

    if (empty !== undefined)
      test(`${path}: an empty store says what to do`, async () => {
        const page = await openPage(browser, nothing.page("admin", pathOf(one)));
        await page.getByText(empty).first().waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await expectNoFaults(page);
        await page.context().close();
      });
  }
});
