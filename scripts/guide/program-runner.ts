// Executes programs one after the other in this process, and reports each to the parent: its output, how it ended, and
// whether it left something open that would have kept its own process alive.
//   node --conditions=holdfast-source --import tsx program-runner.ts file…
import process from "node:process";
import { setImmediate as nextRound, setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";

export interface ProgramOutcome {
  readonly file: string;
  readonly printed: string;
  /** What it threw, or why it did not end. */
  readonly fault?: string;
}

const PATIENCE_MS = 10_000;
const CLOSING_MS = 1_000;

const write = process.stdout.write.bind(process.stdout);
for (const file of process.argv.slice(2)) {
  const before = openResources();
  let printed = "";
  process.stdout.write = (text: string | Uint8Array) => {
    printed += typeof text === "string" ? text : Buffer.from(text).toString();
    return true;
  };
  const fault = (await faultOf(file)) ?? (await leftOpen(before));
  process.stdout.write = write;
  await report({ file, printed, ...(fault === undefined ? {} : { fault }) });
  // A program that does not end would keep running beside the next.
  if (fault !== undefined) process.exit(1);
}
process.disconnect?.();

function report(outcome: ProgramOutcome): Promise<void> {
  return new Promise((resolve) => process.send?.(outcome, () => resolve()));
}

async function faultOf(file: string): Promise<string | undefined> {
  const giveUp = new AbortController();
  const tooLong = wait(PATIENCE_MS, `it did not end within ${PATIENCE_MS} ms`, { signal: giveUp.signal });
  try {
    return await Promise.race([import(pathToFileURL(file).href).then(() => undefined), tooLong]);
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    tooLong.catch(() => {});
    giveUp.abort();
  }
}

async function leftOpen(before: readonly string[]): Promise<string | undefined> {
  for (let waitedMs = 0; ; waitedMs += 10) {
    await nextRound();
    const left = openResources();
    for (const kind of before) if (left.includes(kind)) left.splice(left.indexOf(kind), 1);
    if (left.length === 0) return undefined;
    if (waitedMs >= CLOSING_MS) return `it does not end on its own: ${left.join(", ")} still open`;
    await wait(10);
  }
}

function openResources(): string[] {
  return process.getActiveResourcesInfo();
}
