// What is done with runs, in a real browser: many at once, views that are shared, forks, a time that is brushed, the login.
import { createKey, openServer, type Server } from "@holdfast/server";
import { silentLogger } from "holdfast";
import { clientStore, openClients } from "holdfast/adapter";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { serverDashboard } from "../../src/server.ts";
import { builtPages } from "./built-pages.ts";
import { axeFindings, CHROMIUM, expectNoFaults, openBrowser, openPage } from "./chromium.ts";
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
  });

  async function visit(path: string, role: "reader" | "writer" = "writer"): Promise<Page> {
    return await openPage(browser, `${site.url}default/${path}`, { role });
  }

  test("all runs that match are paused at once: counted first, with a reason, and the progress is seen", async () => {
    const page = await visit("runs?workflow=order&status=sleeping");
    const wanted = await site.hf.count({ workflow: "order", status: "sleeping" });
    expect(wanted).toBeGreaterThan(1);
    await page.getByLabel("Select the loaded runs").check();
    await page.getByRole("button", { name: `Select all ${wanted} that match` }).click();
    await page.getByText(`All ${wanted} that match`).waitFor();
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Pause…" }).click();
    const dialog = page.getByRole("dialog", { name: `Pause ${wanted} runs` });
    await dialog.waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel("Reason").fill("the bank is down");
    await dialog.getByRole("button", { name: `Pause ${wanted} runs` }).click();
    await page.getByRole("status", { name: "Bulk action" }).getByText(`${wanted} done`).waitFor();
    const paused = await site.hf.list({ workflow: "order", status: "parked", error: "paused" });
    expect(paused.runs).toHaveLength(wanted);
    await expectNoFaults(page);
    await page.context().close();
  });

  test("a batch over every run says that it means all, and more than 100 have to be typed", async () => {
    await site.hf.startMany(
      Array.from({ length: 110 }, (_, index) => ({
        workflow: "order",
        input: { id: `later-${index}`, cents: 1 },
        options: { id: `later-${index}`, delay: "1 day" as const },
      })),
    );
    const page = await visit("runs");
    await page.getByLabel("Select the loaded runs").check();
    await page.getByRole("button", { name: /^Select all \d+ that match$/ }).click();
    await page.getByRole("button", { name: "Retry…" }).click();
    const dialog = page.getByRole("dialog");
    const count = Number(/Retry (\d+) runs/.exec((await dialog.getByRole("heading").textContent()) ?? "")?.[1] ?? 0);
    const counted = count > 0 ? count : await waitForCount(page);
    expect(counted).toBeGreaterThan(100);
    await page.getByLabel("Reason").fill("try again");
    const button = dialog.getByRole("button", { name: /^Retry \d+ runs$/ });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel(/Type the number of runs/).fill(String(counted));
    const asked = page.waitForRequest((request) => request.url().endsWith("/batch"));
    await button.click();
    expect((await asked).postDataJSON()).toMatchObject({ action: "retry", filter: {}, all: true });
    await page
      .getByRole("status", { name: "Bulk action" })
      .getByText(/skipped/)
      .first()
      .waitFor();
    await page.context().close();
  });

  async function waitForCount(page: Page): Promise<number> {
    await page.getByRole("heading", { name: /^Retry \d+ runs$/ }).waitFor();
    return Number(/\d+/.exec((await page.getByRole("dialog").getByRole("heading").textContent()) ?? "")?.[0]);
  }

  test("a view is saved for everybody, opened by somebody else, and removed", async () => {
    const page = await visit("runs?workflow=order&status=failed");
    await page.getByRole("button", { name: "Save view…" }).click();
    await page.getByLabel("Name").fill("Orders that failed");
    await page.getByRole("button", { name: "Save view", exact: true }).click();
    const views = page.getByRole("navigation", { name: "Saved views" });
    await views.getByText("Orders that failed").waitFor();
    const other = await visit("runs", "reader");
    await other
      .getByRole("navigation", { name: "Saved views" })
      .getByRole("link", { name: /Orders that failed/ })
      .click();
    await other.waitForURL(/workflow=order/);
    await other.getByRole("link", { name: "order-o-2", exact: true }).waitFor();
    expect(await other.getByRole("button", { name: "Remove view" }).count()).toBe(0);
    await page.getByRole("button", { name: "Remove view" }).click();
    await views.getByText("Orders that failed").waitFor({ state: "hidden" });
    await other.context().close();
    await page.context().close();
  });

  test("a run is forked before an op, with an edited result", async () => {
    const page = await visit("runs/order-o-1?op=charge");
    await page.getByRole("button", { name: "Fork before this…" }).click();
    const dialog = page.getByRole("dialog", { name: "Fork before charge" });
    await dialog.getByLabel("Result of charge").fill('{ "id": ');
    await page.getByLabel("Reason").fill("paid by hand");
    expect(await dialog.getByRole("button", { name: "Fork run" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Result of charge").fill('{ "id": "pay_by_hand", "cents": 5 }');
    await dialog.getByLabel("Id of the new run (optional)").fill("forked-1");
    expect(await axeFindings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Fork run" }).click();
    await page.getByRole("heading", { level: 1, name: "forked-1" }).waitFor();
    const origin = await site.hf.get("order-o-1").describe();
    expect(await site.hf.get("forked-1").describe()).toMatchObject({ forkedFrom: { runId: origin.runId } });
    const charge = (await site.hf.get("forked-1").steps()).find(({ op }) => op === "charge");
    expect(charge).toMatchObject({ edited: true, output: { id: "pay_by_hand", cents: 5 } });
    await page.context().close();
  });

  test("a time that is brushed in the histogram narrows the list, and is in the URL", async () => {
    const page = await visit("runs?workflow=order&status=failed");
    await page.getByRole("link", { name: "order-o-2", exact: true }).waitFor();
    const plot = page.getByRole("img", { name: /runs in .* per bar/ });
    await plot.waitFor();
    const box = (await plot.boundingBox()) as { x: number; y: number; width: number; height: number };
    const middle = box.y + box.height / 2;
    await page.mouse.move(box.x + 4, middle);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 4, middle);
    await page.mouse.move(box.x + box.width / 2, middle);
    await page.mouse.up();
    await page.waitForURL(/createdAfter=\d+&createdBefore=\d+|createdBefore=\d+&createdAfter=\d+/);
    // Everything was created in the last minutes: the first half of the day has none of it.
    await page.getByRole("link", { name: "order-o-2", exact: true }).waitFor({ state: "hidden" });
    await page.goBack();
    await page.getByRole("link", { name: "order-o-2", exact: true }).waitFor();
    await expectNoFaults(page);
    await page.context().close();
  });

  test('runs whose ids are "." and ".." have pages of their own', async () => {
    for (const id of [".", ".."]) {
      await site.hf.start("order", { id: "dots", cents: 1 }, { id, delay: "1 day" });
      const page = await visit(`runs/~${id}`);
      await page.getByRole("heading", { level: 1, name: id, exact: true }).waitFor();
      await page.context().close();
    }
  });

  test("while the store is away the page is not live, and says how old its data are", async () => {
    const page = await visit("runs?workflow=order");
    await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
    const { store } = clientStore(site.hf);
    const away = vi.spyOn(store.runs, "list").mockRejectedValue(new Error("no route to host"));
    await page.getByRole("status").getByText("Not live").waitFor();
    away.mockRestore();
    await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
    await page.context().close();
  });

  test("a namespace that does not exist says so", async () => {
    const page = await openPage(browser, `${site.url}defualt/runs`);
    await page
      .getByRole("alert")
      .getByText(/There is no namespace/)
      .first()
      .waitFor();
    await page.context().close();
  });

  describe("a server that asks for a key", () => {
    let server: Server;
    let key: string;
    let close: () => Promise<void>;

    beforeAll(async () => {
      const url = "memory:dashboard-login";
      const opened = await openClients(url, { logger: silentLogger });
      const access = opened.opened.access as NonNullable<typeof opened.opened.access>;
      const made = { name: "ann", role: "writer", namespace: "*", expiresAt: null } as const;
      key = (await createKey(access, opened.random, made)).token;
      server = await openServer({ url, port: 0, auth: "keys", logger: silentLogger, dashboard: serverDashboard });
      close = async () => {
        await server.close();
        await opened.close();
      };
    });
    afterAll(() => close?.());

    test("lets somebody in with one, not with another, keeps them in, and lets them out", async () => {
      const page = await openPage(browser, `${server.url}/default/runs`);
      const field = page.getByLabel("API key");
      await field.waitFor();
      expect(await page.title()).toBe("Sign in · Holdfast");
      expect(await axeFindings(page)).toEqual([]);
      await field.fill("hf_wrong");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.locator("[aria-invalid=true]").waitFor();
      expect(await page.getByRole("heading", { name: "Sign in" }).count()).toBe(1);
      await field.fill(key);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
      const [cookie] = await page.context().cookies();
      expect(cookie).toMatchObject({ name: "holdfast_session", httpOnly: true, sameSite: "Strict" });
      await page.reload();
      await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
      await page.getByRole("button", { name: /writer/ }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByLabel("API key").waitFor();
      await expectNoFaults(page);
      await page.context().close();
    });
  });
});
