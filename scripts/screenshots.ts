// Pictures of the dashboard for README.md and the guide: `npm run screenshots`. They come from the demo of `holdfast dev --demo`.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { findOrUnpackChromium } from "./chromium-binary.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TARGET = path.join(ROOT, "docs", "images");
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 780 };

interface Picture {
  readonly name: string;
  /** Below the namespace. */
  readonly path: string;
  readonly narrow?: boolean;
  readonly dark?: boolean;
}

const MIXED = "runs?status=failed,parked,waiting,sleeping,timed_out,canceled";

const PICTURES: readonly Picture[] = [
  { name: "overview", path: "" },
  { name: "overview-dark", path: "", dark: true },
  { name: "runs", path: MIXED },
  { name: "runs-dark", path: MIXED, dark: true },
  { name: "runs-narrow", path: MIXED, narrow: true },
  { name: "run", path: "runs/order-refund-3?op=charge" },
  { name: "run-dark", path: "runs/order-refund-3?op=charge", dark: true },
  { name: "run-narrow", path: "runs/order-refund-3", narrow: true },
];

const { program, missing } = findOrUnpackChromium();
if (program === undefined) throw new Error(missing);
const folder = mkdtempSync(path.join(tmpdir(), "holdfast-pictures-"));
const cli = path.join(ROOT, "packages/cli/bin/holdfast.js");
const demo = spawn(process.execPath, [cli, "dev", "--demo", "--port", "0"], {
  cwd: folder,
});
const gone = new Promise((resolve) => demo.once("exit", resolve));
try {
  const url = await addressOf();
  const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  mkdirSync(TARGET, { recursive: true });
  for (const picture of PICTURES) {
    const context = await browser.newContext({
      viewport: picture.narrow ? NARROW : WIDE,
      colorScheme: picture.dark ? "dark" : "light",
      reducedMotion: "reduce",
      timezoneId: "UTC",
    });
    const page = await context.newPage();
    await page.goto(`${url}/default/${picture.path}`);
    await page.locator("h1").waitFor();
    await page.waitForLoadState("load");
    await page.locator("main [role=cell], main h2, main [role=tabpanel]").filter({ visible: true }).first().waitFor();
    // Workers tell what they have done with their heartbeats.
    if (picture.path === "") await page.locator("main li strong").filter({ hasNotText: /^0$/ }).first().waitFor();
    // The answers that follow the first one: counts, charts.
    await page.waitForTimeout(1500);
    await page.screenshot({ path: path.join(TARGET, `dashboard-${picture.name}.png`) });
    console.log(`docs/images/dashboard-${picture.name}.png`);
    await context.close();
  }
  await browser.close();
} finally {
  demo.kill("SIGINT");
  await gone;
  rmSync(folder, { recursive: true, force: true });
}

async function addressOf(): Promise<string> {
  return await new Promise((resolve, reject) => {
    let said = "";
    demo.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const found = /Dashboard: (http:\/\/[^\s/]+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    demo.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    demo.once("exit", (code) => reject(new Error(`the demo ended with ${code}: ${said}`)));
  });
}
