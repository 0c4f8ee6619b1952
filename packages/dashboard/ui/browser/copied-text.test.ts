// What "Copy as" puts on the clipboard is executed, against a real server process.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtPages } from "./built-pages.ts";
import { CHROMIUM, openBrowser, openPage } from "./chromium.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const CLI = [
  process.execPath,
  "--conditions=holdfast-source",
  "--import",
  "tsx",
  path.join(ROOT, "packages/cli/src/bin.ts"),
];
const ID = `it's "one" word; $(echo no)`;

// skip: without a browser there is nothing to test; the reason says how to get one
describe.skipIf(CHROMIUM.program === undefined)(`copied text ${CHROMIUM.missing ?? ""}`, () => {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-copy-"));
  let browser: Browser;
  let server: ReturnType<typeof spawn>;
  let url = "";

  beforeAll(async () => {
    await builtPages();
    browser = await openBrowser();
    const [node = "", ...words] = CLI;
    server = spawn(node, [...words, "server", "--url", `file:${folder}/store.db`, "--port", "0"], { cwd: ROOT });
    url = await new Promise<string>((resolve, reject) => {
      let said = "";
      server.stdout?.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        const found = /listening on (http:\S+)/.exec(said)?.[1];
        if (found !== undefined) resolve(found);
      });
      server.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
    });
    holdfast("workflow", "start", "order", "--id", ID, "--url", url);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    const gone = new Promise((resolve) => server?.once("exit", resolve));
    server?.kill();
    await gone;
    rmSync(folder, { recursive: true, force: true });
  });

  function holdfast(...words: readonly string[]): string {
    const [node = "", ...rest] = CLI;
    return execFileSync(node, [...rest, ...words], { cwd: ROOT, encoding: "utf8" });
  }

  test("the command and the request that were copied find the run, whatever its id", async () => {
    const page = await openPage(browser, `${url}/default/runs/${encodeURIComponent(ID)}`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const copied = async (what: string) => {
      await page.getByRole("button", { name: "Copy as" }).click();
      await page.getByRole("menuitem", { name: what, exact: true }).click();
      return await page.evaluate(() => navigator.clipboard.readText());
    };
    expect(await copied("Link")).toBe(page.url());
    const cli = await copied("CLI");
    expect(cli).not.toContain("TOKEN");
    const quoted = CLI.map((word) => `'${word}'`).join(" ");
    const ran = spawnSync("bash", ["-c", `holdfast() { ${quoted} "$@"; }; ${cli} --json`], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect(ran.stderr).toBe("");
    expect(JSON.parse(ran.stdout)).toMatchObject({ id: ID });
    const curl = await copied("curl");
    expect(curl).toContain("$HOLDFAST_TOKEN");
    const asked = spawnSync("bash", ["-c", curl], {
      encoding: "utf8",
      env: { ...process.env, HOLDFAST_TOKEN: "unused" },
    });
    expect(JSON.parse(asked.stdout)).toMatchObject({ run: { id: ID } });
    expect(await copied("TypeScript")).toBe(`await hf.get(${JSON.stringify(ID)}).describe();`);
    await page.context().close();
  }, 60_000);
});
