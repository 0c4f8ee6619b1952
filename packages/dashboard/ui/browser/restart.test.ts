// A page that is left open: the server ends and comes back, and what happened meanwhile shows without a reload.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Client, connect, signal, silentLogger, workflow } from "holdfast";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dashboard } from "../../src/index.ts";
import { toNode } from "../../src/node.ts";
import { builtPages } from "./built-pages.ts";
import { CHROMIUM, expectNoFaults, openBrowser, openPage } from "./chromium.ts";

const approve = signal("approve");
const order = workflow("order", async (ctx) => ctx.receive(approve));

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  let browser: Browser;
  let hf: Client;
  let stop = async (): Promise<void> => {};

  beforeAll(async () => {
    await builtPages();
    [browser, hf] = await Promise.all([openBrowser(), connect("memory:", { logger: silentLogger })]);
    await hf.worker({ workflows: [order] }).start();
    for (const id of ["order-1", "order-2"]) await hf.start(order, undefined, { id });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await stop();
    await hf?.close();
  });

  async function serve(port = 0): Promise<number> {
    const board = dashboard(hf, { auth: "open" });
    const server: Server = createServer(toNode(board));
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    stop = async () => {
      await board.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return (server.address() as AddressInfo).port;
  }

  test("a run page and a list say that they are old while the server is away, and go on when it is back", async () => {
    const port = await serve();
    const run = await openPage(browser, `http://127.0.0.1:${port}/default/runs/order-1`);
    const list = await openPage(browser, `http://127.0.0.1:${port}/default/runs`);
    await run.getByRole("region", { name: "Why it waits" }).waitFor();
    await list
      .getByRole("row", { name: /order-1/ })
      .getByText("waiting", { exact: true })
      .waitFor();
    for (const page of [run, list]) await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
    await stop();
    for (const page of [run, list]) {
      await page.getByText("Not live").waitFor();
      await page
        .getByText(/^Data from \d\d:\d\d:\d\d, retrying in \d s$/)
        .first()
        .waitFor();
    }
    const told = await announced(run);
    const lost = run.getByText(/^Data from/).first();
    const left = await lost.locator("[aria-hidden]").last().textContent();
    await run.waitForFunction((before) => !document.body.textContent?.includes(`retrying${before}`), left);
    expect(await announced(run)).toEqual(told);
    await hf.get("order-1").signal(approve, undefined as never);
    await hf.get("order-1").result();
    await serve(port);
    await run.getByRole("region", { name: "How it ended" }).waitFor();
    await list
      .getByRole("row", { name: /order-1/ })
      .getByText("completed", { exact: true })
      .waitFor();
    for (const page of [run, list]) {
      await page.getByRole("status").getByText("Live", { exact: true }).waitFor();
      expect(await page.getByText(/^Data from/).count()).toBe(0);
      await expectNoFaults(page);
      await page.context().close();
    }
  }, 60_000);
});

/** What a screen reader reads out as soon as it changes. */
async function announced(page: Page): Promise<string[]> {
  return page.locator("[role=status]:not([aria-live=off]), [aria-live=polite]").evaluateAll((regions) =>
    regions.map((region) => {
      const copy = region.cloneNode(true) as Element;
      for (const hidden of copy.querySelectorAll("[aria-hidden=true]")) hidden.remove();
      return copy.textContent ?? "";
    }),
  );
}
