/** Processes that are killed while they fork a run: at any moment, the fork exists as a whole or not at all. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { type Client, connect, type RunHandle, silentLogger } from "holdfast";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FORK, orderWorkflow } from "./forks-workflow.ts";
import { openStage, query, type Stage } from "./stage.ts";
import { bundleProgram, type WorkerBundle } from "./worker-bundle.ts";

const PATIENCE_MS = 120_000;

const children = new Set<ChildProcess>();
const effects: string[] = [];
const order = orderWorkflow((line) => void effects.push(line));
let program: WorkerBundle;
let stage: Stage;
let hf: Client;
let origin: RunHandle<string[]>;

type Kind = "calls" | "statements" | "none";

function start(id: string, kind: Kind, dieAt: number): ChildProcess {
  const { url, schema = "" } = stage.place;
  const args = [program.file, url, schema, origin.id, id, kind, `${dieAt}`];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  return child;
}

/** What the process has written when it has ended, and how it has. */
async function ended(child: ChildProcess): Promise<{ readonly lines: string[]; readonly signal: unknown }> {
  const lines: string[] = [];
  if (child.stdout) createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const [, signal] = (await once(child, "close")) as [unknown, unknown];
  children.delete(child);
  return { lines, signal };
}

/** Requires that the fork is whole or does not exist, and that it is there once the call is repeated. Whether it was there before. */
async function judge(id: string): Promise<boolean> {
  const before = (await hf.list({ forkedFrom: origin.runId })).runs.find((run) => run.id === id);
  const found = await hf
    .get(id)
    .describe()
    .catch((error: unknown) => error);
  if (before) {
    expect(found).toMatchObject({ id, runId: before.runId, forkedFrom: { runId: origin.runId }, historyLength: 3 });
    await requireWhole(hf.get(id));
  } else expect(found).toMatchObject({ code: "run_not_found" });
  const fork = await origin.fork({ ...FORK, id });
  expect(fork.created).toBe(!before);
  if (before) expect(fork.runId).toBe(before.runId);
  await requireWhole(fork);
  expect((await origin.fork({ ...FORK, id })).runId).toBe(fork.runId);
  return before !== undefined;
}

async function requireWhole(fork: RunHandle<unknown>): Promise<void> {
  const history = await fork.history();
  expect(history.map(({ type, op }) => `${type} ${op}`)).toEqual([
    "run_started null",
    "step_completed charge",
    "run_forked null",
  ]);
  expect(history[1]).toEqual((await origin.history())[1]);
}

/** Kills a process before the first moment, another before the second one, and so on, until one of them comes to its end. */
async function killEverywhere(kind: Kind): Promise<{ readonly ids: string[]; readonly existed: boolean[] }> {
  const ids: string[] = [];
  const existed: boolean[] = [];
  for (;;) {
    const id = `${kind} ${ids.length + 1}`;
    ids.push(id);
    const { lines, signal } = await ended(start(id, kind, ids.length));
    existed.push(await judge(id));
    if (signal !== null) {
      expect([signal, lines]).toEqual(["SIGKILL", []]);
      continue;
    }
    const { runId } = await hf.get(id).describe();
    expect(lines).toEqual([`${runId} ${ids.length - 1}`]);
    return { ids, existed };
  }
}

/** They go on as any fork does, and what was before the cut is not done again. */
async function finish(ids: readonly string[]): Promise<void> {
  effects.length = 0;
  await hf.worker({ workflows: [order] }).start();
  for (const id of ids) expect(await hf.get(id).result()).toEqual(["charge lamp", "by hand", "tell"]);
  expect(effects.sort()).toEqual(ids.map((id) => `tell ${id}`).sort());
  expect(await hf.count({ forkedFrom: origin.runId })).toBe(ids.length);
}

beforeAll(async () => {
  program = await bundleProgram("forking-process.ts");
});

afterAll(() => program.remove());

const STORES: readonly [name: string, url: () => string][] = [
  ["SQLite", () => `file:${path.join(tmpdir(), "app.db")}`],
  ["PostgreSQL", () => process.env["HOLDFAST_TEST_POSTGRES_URL"] ?? ""],
];

describe.each(STORES)("on %s, a process that is killed", (name, url) => {
  beforeEach(async () => {
    if (url() === "") throw new Error("HOLDFAST_TEST_POSTGRES_URL is not set; run the tests with npm test");
    stage = await openStage(url());
    const { schema } = stage.place;
    hf = await connect(stage.place.url, { logger: silentLogger, ...(schema === undefined ? {} : { schema }) });
    const worker = hf.worker({ workflows: [order] });
    await worker.start();
    origin = await hf.start(order, "lamp", { id: "origin" });
    await origin.result();
    await worker.stop();
  });

  afterEach(async () => {
    for (const child of children) child.kill("SIGKILL");
    children.clear();
    await hf.close();
    await stage.remove();
  });

  test("before or after any store call of a fork leaves a whole fork or none", { timeout: PATIENCE_MS }, async () => {
    const { ids, existed } = await killEverywhere("calls");
    // It is there when the call that makes it has been answered, and not before that.
    expect(existed).toEqual([...existed.slice(0, -2).map(() => false), true, true]);
    expect(existed.length).toBeGreaterThan(6);
    await finish(ids);
  });

  if (name === "SQLite")
    test("at any statement of the call that makes the fork leaves none", { timeout: PATIENCE_MS }, async () => {
      const { ids, existed } = await killEverywhere("statements");
      expect(existed.length).toBeGreaterThan(8);
      expect(existed).toEqual([...existed.slice(0, -1).map(() => false), true]);
      await finish(ids);
    });
  else
    test.each([
      ["and the server goes on: the fork is whole", false],
      ["and so is its connection: there is none", true],
    ])("while the server makes the fork, %s", { timeout: PATIENCE_MS }, async (_title, cut) => {
      const held = await holdForks();
      const child = start("held", "none", 0);
      const pid = await blockedBackend();
      child.kill("SIGKILL");
      expect((await ended(child)).signal).toBe("SIGKILL");
      if (cut) await query(url(), "select pg_terminate_backend($1)", [pid]);
      else await held.release();
      while ((await query(url(), "select 1 from pg_stat_activity where pid = $1", [pid])).length > 0);
      await held.release();
      expect(await judge("held")).toBe(!cut);
      await finish(["held"]);
    });
});

/** Nobody can write into the table that a fork writes late, until it is released. */
async function holdForks(): Promise<{ release(): Promise<void> }> {
  const { default: pg } = await import("pg");
  const address = new URL(stage.place.url);
  address.searchParams.set("application_name", "somebody else");
  const client = new pg.Client({ connectionString: address.href });
  await client.connect();
  await client.query(`begin; lock table "${stage.place.schema}".forks in share mode`);
  let released: Promise<void> | undefined;
  return {
    release: () => {
      released ??= client.query("rollback").then(() => client.end());
      return released;
    },
  };
}

/** The connection of the process that is in the middle of its fork. */
async function blockedBackend(): Promise<unknown> {
  const text = `select pid from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`;
  const name = new URL(stage.place.url).searchParams.get("application_name");
  for (;;) {
    const [row] = await query(stage.place.url, text, [name]);
    if (row) return row["pid"];
  }
}
