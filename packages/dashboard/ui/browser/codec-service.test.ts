// Encrypted values, decoded in the browser by a service of the user's own, on another origin.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { connect, silentLogger, workflow } from "holdfast";
import { encrypted } from "holdfast/codecs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dashboard } from "../../src/index.ts";
import { toNode } from "../../src/node.ts";
import { builtPages } from "./built-pages.ts";
import { CHROMIUM, expectNoFaults, openBrowser, openPage } from "./chromium.ts";

const codec = encrypted({ current: "k1", keys: { k1: Buffer.alloc(32, 7) } });
const SECRET = '</script><img src=x onerror="__hacked=1"> pin 4711';

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`a codec service, in Chromium ${CHROMIUM.missing ?? ""}`, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-codec-service-"));
  const store = `file:${path.join(folder, "app.db")}`;
  let browser: Browser;
  /** The only process with the key. It asks who wants to know. */
  let service: Server;
  let allowed = "";
  let asked = 0;

  beforeAll(async () => {
    await builtPages();
    browser = await openBrowser();
    const hf = await connect(store, { codec, logger: silentLogger });
    const pay = workflow("pay", async (_ctx, input: { pin: string }) => input.pin);
    await hf.worker({ workflows: [pay] }).start();
    await hf.run(pay, { pin: SECRET }, { id: "p-1" });
    await hf.close();
    service = createServer(async (request, response) => {
      response.setHeader("access-control-allow-origin", allowed);
      response.setHeader("access-control-allow-credentials", "true");
      response.setHeader("access-control-allow-headers", "content-type");
      if (request.method === "OPTIONS") return void response.end();
      asked += 1;
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { payloads } = JSON.parse(Buffer.concat(chunks).toString()) as { payloads: string[] };
      const texts = payloads.map((one) => JSON.stringify(codec.decode(new Uint8Array(Buffer.from(one, "base64")))));
      response.end(JSON.stringify({ payloads: texts }));
    });
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    service?.closeAllConnections();
    service?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("decodes what the person asks for, and the dashboard's server never sees it", async () => {
    const hf = await connect(store, { logger: silentLogger });
    const { port } = service.address() as AddressInfo;
    const board = dashboard(hf, { auth: "open", codecUrl: `http://127.0.0.1:${port}/decode` });
    const server = createServer(toNode(board));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const api = await (await fetch(`${url}/api/default/runs/p-1`)).text();
      expect(api).not.toContain("4711");
      const page = await openPage(browser, `${url}/default/runs/p-1?tab=data`);
      const decode = page.getByRole("button", { name: "Decode input" });
      await decode.click();
      // The service does not know this page yet.
      await page.getByText("cannot be reached, or does not allow this page (CORS)").waitFor();
      expect(asked).toBe(0);
      allowed = url;
      await decode.click();
      await page.getByText("pin 4711").first().waitFor();
      expect(asked).toBe(1);
      await expectNoFaults(page);
      await page.context().close();
    } finally {
      await board.close();
      server.closeAllConnections();
      server.close();
      await hf.close();
    }
  });
});
