/** What can be done on the further pages, in a real browser: by keyboard, with what the dialogs say, and seen to move. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtPages } from "./built-pages.ts";
import { axeFindings, CHROMIUM, openBrowser, openPage } from "./chromium.ts";
import { openScene, type Scene } from "./further-scene.ts";

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let scene: Scene;

  beforeAll(async () => {
    await builtPages();
    [browser, scene] = await Promise.all([openBrowser(), openScene()]);
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await scene?.close();
  });

  async function visit(path: string, role: "reader" | "writer" | "admin" = "admin"): Promise<Page> {
    return await openPage(browser, scene.page(role, path));
  }

  test("a schedule is paused with a note, by keyboard alone, and resumed", async () => {
    const page = await visit("schedules/hourly", "writer");
    await page.getByRole("button", { name: "Pause…" }).press("Enter");
    await page.getByRole("dialog").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expect(await page.getByRole("button", { name: "Pause schedule" }).isDisabled()).toBe(true);
    await page.getByLabel("Note").focus();
    await page.keyboard.type("month end");
    await page.keyboard.press("Enter");
    await page.getByLabel("Why it waits").getByText("month end").waitFor();
    expect(await scene.hf.schedules.get("hourly").describe()).toMatchObject({
      paused: true,
      note: "month end",
      by: "writer-ann",
    });
    await page.getByRole("button", { name: "Resume…" }).click();
    await page.getByRole("button", { name: "Resume schedule" }).click();
    await page.getByRole("button", { name: "Pause…" }).waitFor();
    expect(await scene.hf.schedules.get("hourly").describe()).toMatchObject({ paused: false });
    await page.context().close();
  });

  test("Escape and Close leave a dialog without doing anything", async () => {
    const page = await visit("schedules/nightly-report?do=delete", "writer");
    await page.getByRole("dialog").waitFor();
    expect(await page.getByRole("button", { name: "Delete schedule" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    expect(new URL(page.url()).searchParams.has("do")).toBe(false);
    expect(await scene.hf.schedules.get("nightly-report").describe()).toMatchObject({ id: "nightly-report" });
    await page.context().close();
  });

  test("the calendar marks outcomes, coming times and the day on which clocks change", async () => {
    const page = await visit("schedules/settle-books?month=2026-11");
    const change = page.getByRole("button", { name: /Clocks go back 1 h: 02:00 becomes 01:00/ });
    await change.waitFor();
    await page.getByRole("button", { name: "Month after" }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("month")).toBe("2026-12");
    await page.getByRole("button", { name: /^Tuesday 8 December: 1 to come/ }).click();
    await page.getByRole("region", { name: "Times of Tuesday 8 December" }).getByText("04:00").waitFor();
    await page.context().close();
  });

  test("a backfill is counted and shows its progress", async () => {
    const page = await visit("schedules/nightly-report", "writer");
    await page.getByRole("button", { name: "Backfill…" }).click();
    await page.getByLabel("From (UTC)").fill("2026-01-01T00:00");
    await page.getByLabel("To (UTC)").fill("2026-01-04T00:00");
    await page.getByText("3 times have come in this span").waitFor();
    await page.getByRole("button", { name: "Start backfill" }).click();
    await page.getByText(/3 times: 3 started, 0 buffered, 0 skipped/).waitFor();
    await page.context().close();
  });

  test("a limit is changed, and the dialog says what changes before", async () => {
    const page = await visit("queues?queue=mail");
    await page.getByRole("button", { name: "Change limits…" }).click();
    await page.getByLabel("At once", { exact: true }).fill("5");
    await page.getByText("New: 5 at once", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Change limits", exact: true }).click();
    await page.getByRole("complementary").getByText("5 at once", { exact: true }).waitFor();
    const queue = (await scene.hf.queues.list()).find(({ name }) => name === "mail");
    expect(queue?.limits).toMatchObject({ concurrency: 5, perKey: { concurrency: 1 } });
    await page.context().close();
  });

  test("an external task is completed with a result", async () => {
    const page = await visit("tasks?tab=external", "writer");
    await page.getByRole("button", { name: "approve", exact: true }).click();
    await page.getByRole("button", { name: "Complete…" }).click();
    await page.getByLabel("Result").fill('{"ok": ');
    expect(await page.getByRole("button", { name: "Complete task" }).isDisabled()).toBe(true);
    await page.getByLabel("Result").fill('"approved"');
    await page.getByRole("button", { name: "Complete task" }).click();
    await page.getByText("Nobody is waited for").waitFor();
    expect(await scene.hf.get("approval-1").result()).toBeUndefined();
    await page.context().close();
  });

  test("a dead letter shows why it failed and is tried again", async () => {
    const page = await visit("tasks?tab=dead", "writer");
    await page.getByRole("button", { name: "charge", exact: true }).click();
    await page
      .getByRole("complementary")
      .getByText(/card declined/)
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Retry…" }).click();
    await page.getByRole("button", { name: "Retry task" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await expect
      .poll(async () => (await scene.hf.get("payment-1").history()).some(({ type }) => type === "run_retried"), {
        timeout: 10_000,
      })
      .toBe(true);
    await page.context().close();
  });

  test("a version becomes the default, and only an admin can do that", async () => {
    const reader = await visit("workflows/order", "writer");
    await reader.getByText("it is the canary of 5 % of the starts").waitFor();
    expect(await reader.getByRole("button", { name: "Make default… version 2" }).count()).toBe(0);
    await reader.context().close();
    const page = await visit("workflows/order");
    await page.getByRole("button", { name: "Make default… version 2" }).click();
    await page.getByRole("button", { name: "Make default", exact: true }).click();
    await expect
      .poll(async () => (await scene.hf.versions.list("order")).find(({ isDefault }) => isDefault)?.version)
      .toBe("2");
    await page.context().close();
  });

  test("a run is started with JSON, and its page opens", async () => {
    const page = await visit("workflows/report", "writer");
    await page.getByRole("button", { name: "Start run…" }).click();
    await page.getByLabel("Id").fill("report-by-hand");
    await page.getByLabel("Input").fill('{ "to": "bob" }');
    await page.getByRole("button", { name: "Start run", exact: true }).click();
    await page.waitForURL(/\/runs\//);
    expect(await scene.hf.get("report-by-hand").result()).toBe("mailed to bob");
    await page.context().close();
  });

  test("a run is started with the form that its schema makes", async () => {
    const page = await visit("workflows/order?do=start", "writer");
    const start = page.getByRole("button", { name: "Start run", exact: true });
    await start.waitFor();
    expect(await start.isDisabled()).toBe(true);
    await page.getByLabel("Id", { exact: true }).fill("order-by-form");
    await page.getByLabel("id", { exact: true }).fill("o-99");
    await page.getByLabel("cents").fill("0");
    await page.getByText("This must be at least 1.").waitFor();
    await page.getByLabel("cents").fill("100");
    await page.getByLabel("region (optional)").selectOption('"eu"');
    expect(await axeFindings(page)).toEqual([]);
    await start.click();
    await page.waitForURL(/\/runs\//);
    expect(await scene.hf.get("order-by-form").describe()).toMatchObject({
      input: { id: "o-99", cents: 100, region: "eu" },
    });
    await page.context().close();
  });

  test("a divergence stands side by side, and a whole cause is resumed as a batch", async () => {
    const page = await visit("parked", "writer");
    await page.getByRole("button", { name: "Side by side of ledger-1" }).click();
    const sides = page.getByRole("region", { name: "Divergence of ledger-1" });
    await sides.getByText("they part here").waitFor();
    await sides.getByText(/^open-book/).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    const cause = page.getByRole("region", { name: "The workflow code has a bug: invoice" });
    await cause.getByRole("button", { name: "Resume all 2…" }).click();
    await page.getByLabel("Reason").fill("deployed a fix");
    await page.getByRole("button", { name: "Resume 2 runs" }).click();
    await page.getByRole("region", { name: "Batch" }).getByText("2 of 2 done").waitFor();
    await page.context().close();
  });

  test("the grid has one tab stop, arrow keys move in it, and Enter opens the op of that run", async () => {
    const page = await visit("grid?workflow=order", "reader");
    const grid = page.getByRole("grid");
    await grid.waitFor();
    expect(await grid.locator('td[tabindex="0"]').count()).toBe(1);
    await grid.locator('td[tabindex="0"]').focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    const name = await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
    expect(name).toMatch(/^charge in order-o-2\d: completed/);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\/[^?]+\?op=charge/);
    await page.context().close();
  });

  test("a worker is opened by its link, asked to drain, and seen to stop without a reload", async () => {
    const worker = (await scene.hf.workers.list()).find(({ name }) => name === "eu-2");
    const page = await visit(`workers?show=all&worker=${worker?.workerId}`);
    const selected = page.getByRole("complementary", { name: "Selected worker" });
    await selected.getByText("eu-2").waitFor();
    await page.getByRole("button", { name: "Drain…" }).click();
    await page.getByRole("button", { name: "Drain worker" }).click();
    await selected.getByText("stopped", { exact: true }).first().waitFor({ timeout: 40_000 });
    await page.context().close();
  }, 60_000);

  test("a task that a run schedules appears without a reload", async () => {
    const page = await visit("tasks?tab=external", "reader");
    await page.getByText("Nobody is waited for").waitFor();
    await scene.hf.start("approval", { invoice: "i-2" }, { id: "approval-2" });
    await page.getByRole("button", { name: "approve", exact: true }).waitFor();
    await page.context().close();
  });
});
