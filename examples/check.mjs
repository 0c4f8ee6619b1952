// Runs every example, and the one in README.md, and compares their output with the expected output:
//   node examples/check.mjs
// A folder without a check, and a check without a folder, are failures too.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { ensureInstalled, root } from "../scripts/ensure-installed.mjs";

const examples = path.join(root, "examples");

/** Each check returns what is wrong, or undefined; throwing counts as wrong, too. */
const checks = {
  "01-hello": () => printsExpected("01-hello"),
  "02-retries": () => printsExpected("02-retries"),
  "03-signals-and-sleep": () => printsExpected("03-signals-and-sleep"),
  "04-parallel": () => printsExpected("04-parallel"),
  "05-versions": () => printsExpected("05-versions"),
  "06-testing": () => testsPass("06-testing"),
  "07-ledger": ledger,
  "08-tasks": () => tasksForPeople() ?? tasksForScripts(),
  "09-approval": () => printsExpected("09-approval"),
  "10-heavy-task": heavyTask,
  "11-shipments": shipments,
  "12-cart": () => printsExpected("12-cart"),
  "13-subscription": () => printsExpected("13-subscription"),
  "14-fork": () => printsExpected("14-fork"),
  "15-nightly-report": () => printsExpected("15-nightly-report"),
  "16-heartbeat": () => printsExpected("16-heartbeat"),
  "17-backfill": () => printsExpected("17-backfill"),
  "18-lock": () => printsExpected("18-lock"),
  "19-metrics": () => printsExpected("19-metrics"),
  "20-limits": () => printsExpected("20-limits"),
  "21-watchdog": () => printsExpected("21-watchdog"),
  "22-move": () => printsExpected("22-move"),
  "23-remote-workers": () => printsExpected("23-remote-workers"),
  order: () => orderForPeople() ?? orderForScripts(),
  "README.md": readme,
};

const AFTER_THE_RETRY = `Somebody finds a larger van, and retries the order. The piano is not picked again:
  piano: delivered at attempt 1
The order: lamp delivered, chair delivered, piano delivered.
Its children: chair completed, lamp completed, piano completed.
All or nothing: the van is away again, and what was delivered is taken back.
  lamp: picked
  lamp: delivered at attempt 1
  piano: picked
  lamp: taken back
Failed. no van can carry the piano, 400 kg.
`;

// The output of an installation must not be mixed with that of the first example.
ensureInstalled();

const folders = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "node_modules")
  .map((entry) => entry.name);
const unchecked = folders.filter((name) => !Object.hasOwn(checks, name));
let failures = unchecked.length;
for (const name of unchecked) console.error(`FAILED ${name}: it has no check in examples/check.mjs`);

for (const [name, check] of Object.entries(checks)) {
  const began = performance.now();
  const fault = faultOf(check);
  const took = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  if (fault === undefined) console.log(`ok     ${name} (${took})`);
  else console.error(`FAILED ${name}: ${fault}`);
  if (fault !== undefined) failures += 1;
}
process.exit(failures === 0 ? 0 : 1);

function faultOf(check) {
  try {
    return check();
  } catch (error) {
    return error.message;
  }
}

function printsExpected(name) {
  const file = path.join(examples, name, "expected.txt");
  if (!existsSync(file)) return "expected.txt is missing";
  return differs(start(name), readFileSync(file, "utf8"));
}

/** An example that is a test file: it has no output to compare. */
function testsPass(name) {
  execute([path.join(root, "node_modules", "vitest", "vitest.mjs"), "run", path.join("examples", name)]);
}

/** Ends with exit code 1 if the books do not balance; with few kills here, so that it takes seconds. */
function ledger() {
  const printed = start("07-ledger", "--kills", "10");
  return lacks(printed, ["10 killed", "ok     sum of all entries", "The books balance, to the cent."]);
}

function tasksForPeople() {
  return lacks(start("08-tasks"), [
    "payments  ✖ o-1  process-payment: the bank is down",
    "payments  ✔ o-1  process-payment (attempt 2): 4990 cents charged",
    'waits on queue "mail", 1st in line; no live worker executes "send-mail" on that queue.',
    "mail      ✔ o-1  send-mail: to ann@example.com",
    "main      · o-2  the grand piano goes back to its shelf",
  ]);
}

function tasksForScripts() {
  const { type, outcomes, steps } = jsonLines("08-tasks", "--json").at(-1);
  const attempts = steps.map(({ op, attempts: count }) => `${op} ${count}`).join();
  if (attempts !== "reserve-inventory 1,process-payment 2,send-mail 1") return `other attempts: ${attempts}`;
  if (type !== "summary" || outcomes["o-1"].mail !== "mail-o-1") return `another outcome: ${toText(outcomes)}`;
  if (outcomes["o-2"] !== "declined by the bank") return `the dear order did not fail: ${toText(outcomes)}`;
}

/** The picture itself is for people. */
function heavyTask() {
  const [{ rows, by, here }] = jsonLines("10-heavy-task", "--json");
  if (here) return `the process with the workflow computed: ${toText(by)}`;
  if (rows.length !== 24 || !rows[12].includes("@@@@")) return `that is not the picture: ${toText(rows)}`;
}

/** Shipments run side by side, so that their lines come in any order. */
function shipments() {
  const printed = start("11-shipments");
  const [placed = "", retried = ""] = printed.split("Somebody finds a larger van");
  const before = lacks(placed, [
    "piano: picked",
    "chair: delivered at attempt 2",
    "The order failed. no van can carry the piano, 400 kg.",
    "Its children: chair completed, lamp completed, piano failed.",
  ]);
  return before ?? differs(`Somebody finds a larger van${retried}`, AFTER_THE_RETRY);
}

function orderForPeople() {
  const printed = start();
  const wanted = [
    "the bank is down",
    "is killed (SIGKILL) while the label is being printed",
    "reclaimed 1 run from 1 dead worker (dead: 1, returned: 1)",
    'result: {"payment":"payment-o-1","approvedBy":"Bob","label":"label-o-1","mail":"mail-o-1"}',
    "failed (nobody approved the order) and compensated",
    "Where to look next",
  ];
  if (printed.includes("\u001b")) return "it prints colors although the output is not a terminal";
  return lacks(printed, wanted);
}

function orderForScripts() {
  const objects = jsonLines("--json");
  const history = objects.find(({ type }) => type === "history");
  const { executions } = objects.at(-1);
  const by = Object.fromEntries(executions.map((execution) => [execution.step, execution.by.join()]));
  if (by.charge !== "worker A,worker A" || by.mail !== "worker A") return `a recorded step ran again: ${toText(by)}`;
  if (by.label !== "worker A,worker B") return `the step that was cut off did not run again: ${toText(by)}`;
  if (by.refund !== "worker B") return `the charge of o-2 was not given back: ${toText(by)}`;
  if (history.events.at(-1).type !== "run_completed") return `the history of o-1 does not end: ${toText(history)}`;
}

/** The first example in README.md prints what the block after it says. */
function readme() {
  const text = readFileSync(path.join(root, "README.md"), "utf8");
  const [, code, expected] = /```ts\n(.*?)```.*?```text\n(.*?)```/s.exec(text) ?? [];
  if (code === undefined) return "there is no ts block with a text block after it";
  const folder = path.join(root, "node_modules", ".cache", "holdfast-readme");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(path.join(folder, "main.ts"), code);
  return differs(execute(["--import", "tsx", path.join(folder, "main.ts")]), expected);
}

function start(...args) {
  return execute([path.join(root, "scripts", "start.mjs"), ...args]);
}

function jsonLines(...args) {
  const lines = start(...args)
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line));
}

function execute(args) {
  const options = { cwd: root, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8", timeout: 120_000 };
  const { stdout, status, signal } = spawnSync(process.execPath, args, options);
  if (status !== 0) throw new Error(`it printed\n${stdout}\nand ended with ${signal ?? `exit code ${status}`}`);
  return stdout;
}

function differs(printed, expected) {
  return printed === expected ? undefined : `it printed\n${printed}\ninstead of\n${expected}`;
}

function lacks(printed, wanted) {
  const missing = wanted.filter((text) => !printed.includes(text));
  return missing.length === 0 ? undefined : `it printed\n${printed}\nwhich lacks\n${missing.join("\n")}`;
}

function toText(value) {
  return JSON.stringify(value);
}
