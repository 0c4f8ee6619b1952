import process from "node:process";
import { connect, workflow } from "holdfast";
import { VirtualClock } from "holdfast/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { transaction } from "../src/index.ts";
import { aStart, ERROR, idOf, newRun } from "./sample-runs.ts";
import { silent, TestDatabase } from "./test-database.ts";

let database: TestDatabase;

beforeEach(async () => {
  database = await TestDatabase.create();
});

afterEach(() => database.drop());

/** Connections whose last statement was one of this store's calls, or its LISTEN. */
async function connections(): Promise<readonly { readonly query: string }[]> {
  const rows = await database.sql(
    "select query from pg_stat_activity where pid <> pg_backend_pid() and strpos(query, $1) > 0",
    [`"${database.schema}"`],
  );
  return rows as unknown as readonly { readonly query: string }[];
}

test("a store opens no more connections than its URL allows, and one to listen, however many calls come at once", async () => {
  const { store } = await database.open({ parameters: { connections: "2" } });
  await Promise.all(Array.from({ length: 100 }, () => store.workers.list({ namespace: "default" })));
  // The one that checked the schema is closed, or about to close.
  let open = await connections();
  while (open.length > 3) open = await connections();
  expect(open.filter(({ query }) => query.startsWith("listen"))).toHaveLength(1);
  expect(open).toHaveLength(3);
});

test("a call goes to the connection that has its plans, if that one is free", async () => {
  const { store } = await database.open({ parameters: { connections: "2" } });
  const workers = () => store.workers.list({ namespace: "default" });
  const versions = () => store.versions.list({ namespace: "default" });
  await Promise.all([workers(), versions()]);
  for (const call of [versions, workers, versions, versions]) await call();
  const last = (await connections()).map(({ query }) => /\.(workers w|versions) where/.exec(query)?.[1]);
  expect(last.filter((table) => table !== undefined).sort()).toEqual(["versions", "workers w"]);
});

test("no call waits behind a purge while there is another connection", async () => {
  const { store } = await database.open({ parameters: { connections: "2" } });
  // A purge waits for this lock, and so it takes as long as the test wants.
  const lock = `hashtextextended('${database.schema}.purge_runs', 0)`;
  await database.sql(`select pg_advisory_lock(${lock})`);
  const purge = store.runs.purge({ namespace: "default", endedBefore: 1, limit: 1 });
  await Promise.all(Array.from({ length: 10 }, () => store.workers.list({ namespace: "default" })));
  await database.sql(`select pg_advisory_unlock(${lock})`);
  expect(await purge).toMatchObject({ purged: 0 });
});

/** The sockets that keep this process alive. */
function liveSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
}

test("connections keep the process alive while a caller waits for an answer on them, and not when they are idle", async () => {
  const before = liveSockets();
  const client = await connect(database.url(), { logger: silent });
  const note = workflow("note", (ctx) => transaction(ctx, "note", async (tx) => (await tx.query("select 1")).rowCount));
  const worker = client.worker({ workflows: [note] });
  await worker.start();
  expect(await client.run(note)).toBe(1);
  await worker.drain();
  expect(liveSockets()).toBe(before);
  const answers = [client.count(), client.list()];
  expect(liveSockets()).toBeGreaterThan(before);
  await Promise.all(answers);
  expect(liveSockets()).toBe(before);
  await client.close();
});

test("a store that is closed leaves no connection, also when it was about to listen again", async () => {
  const clock = new VirtualClock();
  let lost = (): void => {};
  const noticed = new Promise<void>((resolve) => {
    lost = resolve;
  });
  const { store } = await database.open();
  const waiting = await database.open({ clock, log: { ...silent, warn: () => lost() } });
  const listeners = await database.sql("select pid from pg_stat_activity where query = $1", [
    `listen "${database.schema}"`,
  ]);
  for (const { pid } of listeners) await database.sql("select pg_terminate_backend($1)", [pid]);
  await noticed;
  await store.close();
  await waiting.store.close();
  await clock.advance("1 hour");
  // The server takes a moment to end a backend.
  while ((await connections()).length > 0);
});

test("starts that come in one call are written together or not at all: nothing is due that was not also given its input", async () => {
  const { store } = await database.open();
  const starts = [newRun(10), newRun(11, { id: "a\u0000b" }), newRun(12)].map((run) => aStart(run));
  const written = async () => {
    const [row] = await database.sql(
      `select (select count(*)::int from ${database.name("runs")}) as due,
              (select count(*)::int from ${database.name("runs")} join ${database.name("run_starts")} using (run_id)) as whole`,
    );
    return row;
  };
  await expect(store.runs.start({ starts, holdBy: null, replaceError: ERROR })).rejects.toMatchObject({
    code: "store_refused",
  });
  expect(await written()).toEqual({ due: 0, whole: 0 });
  const good = starts.filter(({ run }) => run.runId !== idOf(11));
  await store.runs.start({ starts: good, holdBy: null, replaceError: ERROR });
  expect(await written()).toEqual({ due: 2, whole: 2 });
});
