// A key that is revoked while its pages are open: they say so soon, and show nothing more.
import { createKey, openServer, type Server } from "@holdfast/server";
import { connect, silentLogger, workflow } from "holdfast";
import { openClients } from "holdfast/adapter";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serverDashboard } from "../../src/server.ts";
import { builtPages } from "./built-pages.ts";
import { axeFindings, CHROMIUM, expectNoFaults, openBrowser, openPage } from "./chromium.ts";

const URL_OF_STORE = "memory:dashboard-revoked";
const order = workflow("order", async (ctx) => ctx.sleep("wait", "1 day"));

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let server: Server;
  let close = async (): Promise<void> => {};
  let newKey: () => ReturnType<typeof createKey>;
  let revoke: (id: string) => Promise<unknown>;

  beforeAll(async () => {
    await builtPages();
    browser = await openBrowser();
    // Another client of the store than the server's: the key may be revoked anywhere.
    const other = await openClients(URL_OF_STORE, { logger: silentLogger });
    const access = other.opened.access as NonNullable<typeof other.opened.access>;
    const hf = await connect(URL_OF_STORE, { logger: silentLogger });
    await hf.worker({ workflows: [order] }).start();
    await hf.start(order, undefined, { id: "secret-order" });
    const asked = { name: "ops", role: "admin", namespace: "*", expiresAt: null } as const;
    newKey = () => createKey(access, other.random, asked);
    revoke = (id) => access.revokeKey({ id });
    server = await openServer({
      url: URL_OF_STORE,
      port: 0,
      auth: "keys",
      logger: silentLogger,
      dashboard: serverDashboard,
    });
    close = async () => {
      await server.close();
      await hf.close();
      await other.close();
    };
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await close();
  });

  async function signIn(page: Page, token: string): Promise<void> {
    await page.getByLabel("API key").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  test.each(["runs", "settings"])(
    "the page %s says so, and goes on with another key",
    async (name) => {
      const [first, second] = [await newKey(), await newKey()];
      const page = await openPage(browser, `${server.url}/default/${name}`);
      await signIn(page, first.token);
      await page.getByRole("heading", { level: 1, name: /^(?:Runs|Settings)$/ }).waitFor();
      await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
      await revoke(first.id);
      await page.getByText("Your session has ended, or its key was revoked. Sign in to go on.").waitFor();
      expect(await page.getByText("secret-order").count()).toBe(0);
      expect(await page.title()).toBe("Sign in · Holdfast");
      expect(await axeFindings(page)).toEqual([]);
      await signIn(page, second.token);
      await page.getByRole("heading", { level: 1, name: /^(?:Runs|Settings)$/ }).waitFor();
      await expectNoFaults(page);
      await page.context().close();
    },
    60_000,
  );
});
