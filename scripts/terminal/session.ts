// Records docs/images/command-line.svg: real output of the command line on a store of its own. Run: npm run session
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Io, main } from "@holdfast/cli";
import { connect, NonRetryableError, signal, silentLogger, workflow } from "holdfast";
import { pictureOf, TerminalScreen } from "./picture.ts";

const COLUMNS = 96;
const PAUSE_S = 1.2;
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

const approve = signal<{ by: string }>("approve");
const order = workflow("order", async (ctx, input: { cents: number }) => {
  const payment = await ctx.step(
    "charge",
    async (s) => {
      await pause(150);
      if (s.attempt === 1) throw new Error("card network is busy");
      return { id: "pay_81", cents: input.cents };
    },
    { retry: { attempts: 5, fixed: "400ms" } },
  );
  const ok = await ctx.receive(approve, { timeout: "3 days" });
  await ctx.sleep("cool-off", "700ms");
  const label = await ctx.step("label", async () => {
    await pause(250);
    return "lbl_7";
  });
  return { payment: payment.id, label, approvedBy: ok?.by };
});
const refund = workflow("refund", async (ctx) =>
  ctx.step("pay-back", () => {
    throw new NonRetryableError("the account is closed");
  }),
);

const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-session-"));
const url = `file:${path.join(folder, "app.db")}`;
const screen = new TerminalScreen();
let at = 0;

async function type(line: string, argv: readonly string[]): Promise<void> {
  screen.write(`\u001b[32m$\u001b[39m ${line}\n`, at);
  at += PAUSE_S / 2;
  const sink = { write: (text: string) => screen.write(text, at), isTTY: true, columns: COLUMNS, rows: 40 };
  const io: Io = {
    stdin: Readable.from([]),
    stdout: sink,
    stderr: sink,
    env: {},
    cwd: folder,
    now: () => Date.now(),
    wait: async (ms, stop) => void (await pause(ms, undefined, stop ? { signal: stop } : {}).catch(() => {})),
    random: () => Math.random(),
    interrupted: new AbortController().signal,
    core: () => import("holdfast"),
    adapter: () => import("holdfast/adapter"),
    importFile: (file) => import(pathToFileURL(file).href),
    importPackage: async () => undefined,
    self: { program: process.execPath, nodeArgs: [], bin: "" },
  };
  await main(["--url", url, ...argv], io);
  screen.write("\n", at);
  at += PAUSE_S;
}

const hf = await connect(url, { logger: silentLogger });
await hf.worker({ workflows: [order, refund] }).start();
await hf.start(refund, undefined, { id: "refund-17" });
await hf
  .get("refund-17")
  .result()
  .catch(() => {});
await type(`holdfast workflow start order --id order-1 --input '{"cents":990}'`, [
  ...["workflow", "start", "order", "--id", "order-1", "--input", '{"cents":990}'],
]);
while ((await hf.get("order-1").status()) !== "waiting") await pause(20);
await type("holdfast workflow list", ["workflow", "list"]);
await type("holdfast workflow why order-1", ["workflow", "why", "order-1"]);
await type(`holdfast workflow signal order-1 approve --input '{"by":"ann"}'`, [
  ...["workflow", "signal", "order-1", "approve", "--input", '{"by":"ann"}'],
]);
await type("holdfast workflow watch order-1", ["workflow", "watch", "order-1"]);
await hf.close();
rmSync(folder, { recursive: true, force: true });
while (screen.lines.at(-1)?.cells.length === 0) (screen.lines as unknown[]).pop();
writeFileSync(
  path.join(root, "docs/images/command-line.svg"),
  pictureOf(screen.lines, "A session with the command line"),
);
