// An order that survives a crash, shown on the terminal:
//   npm start                          for people
//   npm start --silent -- --json       one JSON object per line, for scripts
//   npm start -- --store postgres://…  on another store than a fresh SQLite file
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Client, connect, isHoldfastError } from "holdfast";
import { approve, order } from "./order.ts";
import { openPlace, startWorkerA } from "./place.ts";
import { Screen } from "./screen.ts";
import { type Line, listen, tell, tellingLogger } from "./tell.ts";

const { values } = parseArgs({
  options: { json: { type: "boolean", default: false }, store: { type: "string" } },
});
const screen = new Screen({ json: values.json });
const lines: Line[] = [];
const show = (line: Line): void => {
  lines.push(line);
  screen.line(line);
};

const place = openPlace(values.store);
listen("client", show);
const hf = await connect(place.url, { logger: tellingLogger });
screen.prose(
  "",
  "Holdfast runs an order: charge, wait for approval, sleep, then label and mail side by side.",
  "Worker A is a separate process and will be killed. Worker B takes over. Both use the same store:",
  values.store === undefined ? `${place.url}, a fresh file.` : "the one that was named with --store.",
);
const first = await surviveCrash(place.url, hf);
const second = await compensate(hf);
await hf.close();
place.leave();
summarize({ "o-1": first, "o-2": second });

/** Order o-1: worker A is killed in the middle of a step, worker B completes the run. */
async function surviveCrash(url: string, hf: Client): Promise<unknown> {
  screen.heading("Order o-1: the process dies, the order does not");
  const a = await startWorkerA(url, show);
  show({ who: "worker A", text: `works in process ${a.pid}; its lease is 1 second`, mark: "note" });

  tell({ text: "starts order o-1" });
  const run = await hf.start(order, { id: "o-1", cents: 4990, email: "ann@example.com" }, { id: "o-1" });
  await until(async () => (await run.status()) === "waiting");
  await pause(400);
  tell({ text: "sends the signal: approved by Bob" });
  await run.signal(approve, { by: "Bob" });

  // The moment to die: the mail is sent and recorded, the label is being printed.
  await until(async () => (await run.steps()).some((step) => step.op === "mail" && step.status === "completed"));
  await a.kill();
  show({
    who: "worker A",
    text: "is killed (SIGKILL) while the label is being printed; it releases nothing",
    mark: "bad",
  });

  const b = hf.worker({ name: "B", workflows: [order], lease: "1s" });
  await b.start();
  listen("worker B", show);
  tell({ text: "starts. The run still belongs to worker A, until A's lease expires", mark: "note" });
  const output = await run.result();
  show({ who: "client", text: `result: ${JSON.stringify(output)}` });
  screen.history("o-1", await run.history());
  return output;
}

/** Order o-2: it is not approved, so the charge is refunded. */
async function compensate(hf: Client): Promise<unknown> {
  screen.heading("Order o-2: nobody approves it, so the charge is compensated");
  show({ who: "client", text: "starts order o-2" });
  const run = await hf.start(order, { id: "o-2", cents: 1250, email: "cy@example.com" }, { id: "o-2" });
  try {
    await run.result();
  } catch (error) {
    if (!isHoldfastError(error, "run_failed")) throw error;
    const { status, compensation } = await run.describe();
    const why = (error.cause as Error).message;
    show({ who: "client", text: `${status} (${why}) and ${compensation}` });
    return { status, compensation, why };
  }
  throw new Error("order o-2 was expected to fail");
}

function summarize(outcomes: Readonly<Record<string, unknown>>): void {
  const expected = [
    { order: "o-1", step: "charge", by: ["worker A", "worker A"] },
    { order: "o-1", step: "mail", by: ["worker A"] },
    { order: "o-1", step: "label", by: ["worker A", "worker B"] },
    { order: "o-2", step: "refund", by: ["worker B"] },
  ];
  const executions = expected.map(({ order, step }) => {
    const told = lines.filter((line) => line.order === order && line.step === step && line.text !== "printed");
    return { order, step, by: told.map((line) => line.who ?? "") };
  });
  screen.summary({ executions, outcomes });
  screen.prose(
    "",
    "Worker B executed neither the charge nor the mail of o-1: it read their results from the history. The charge was",
    "attempted twice because the bank was down at first. The label was cut off before it was recorded, so it ran again:",
    "a step runs at least once, and never again once its result is recorded.",
    "",
    "Where to look next",
    "  examples/order/order.ts   the workflow: 20 lines of plain TypeScript",
    "  npm start 01-hello        one idea each: 01-hello, 02-retries, 03-signals-and-sleep, 04-parallel",
    "  npm run demo              a few hundred runs in every state, and the dashboard on them",
    "  docs/ARCHITECTURE.md      how it works",
    "",
  );
  if (JSON.stringify(executions) === JSON.stringify(expected)) return;
  process.stderr.write(`order example: expected these executions: ${JSON.stringify(expected)}\n`);
  process.exitCode = 1;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; !(await holds()); waitedMs += 20) {
    if (waitedMs > 20_000) throw new Error("waited 20 seconds for something that did not happen");
    await pause(20);
  }
}
