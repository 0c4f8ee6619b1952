// What "Copy as" puts on the clipboard is executed, against a real server process.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
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
    holdfast("schedule", "create", "it's nightly", "--workflow", "order", "--cron", "0 3 * * *", "--url", url);
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

  const open = async (path: string): Promise<Page> => {
    const page = await openPage(browser, `${url}/default/${path}`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    return page;
  };

  const copied = async (page: Page, what: string) => {
    await page.getByRole("button", { name: "Copy as" }).click();
    await page.getByRole("menuitem", { name: what, exact: true }).click();
    return await page.evaluate(() => navigator.clipboard.readText());
  };

  /** What the copied command and the copied request answer. */
  async function executed(page: Page): Promise<{ readonly cli: unknown; readonly curl: unknown }> {
    const cli = await copied(page, "CLI");
    expect(cli).not.toContain("TOKEN");
    const quoted = CLI.map((word) => `'${word}'`).join(" ");
    const script = `holdfast() { ${quoted} "$@"; }; ${cli} --json`;
    const ran = spawnSync("bash", ["-c", script], { cwd: ROOT, encoding: "utf8" });
    expect(ran.stderr).toBe("");
    const curl = await copied(page, "curl");
    expect(curl).toContain("$HOLDFAST_TOKEN");
    const env = { ...process.env, HOLDFAST_TOKEN: "unused" };
    const asked = spawnSync("bash", ["-c", curl], { encoding: "utf8", env });
    return { cli: JSON.parse(ran.stdout), curl: JSON.parse(asked.stdout) };
  }

  test("the command and the request that were copied find the run, whatever its id", async () => {
    const page = await open(`runs/${encodeURIComponent(ID)}`);
    expect(await copied(page, "Link")).toBe(page.url());
    const { cli, curl } = await executed(page);
    expect(cli).toMatchObject({ id: ID });
    expect(curl).toMatchObject({ run: { id: ID } });
    expect(await copied(page, "TypeScript")).toBe(`await hf.get(${JSON.stringify(ID)}).describe();`);
    await page.context().close();
  }, 60_000);

  test("so do those of a filtered list, and of a schedule", async () => {
    const list = await open("runs?workflow=order&status=pending&created=24h");
    const found = await executed(list);
    expect(found.cli).toMatchObject({ id: ID });
    expect(found.curl).toMatchObject({ runs: [{ id: ID }] });
    await list.context().close();
    const schedule = await open(`schedules/${encodeURIComponent("it's nightly")}`);
    const told = await executed(schedule);
    expect(told.cli).toMatchObject({ id: "it's nightly" });
    expect(told.curl).toMatchObject({ schedule: { id: "it's nightly" } });
    await schedule.context().close();
  }, 60_000);
});
