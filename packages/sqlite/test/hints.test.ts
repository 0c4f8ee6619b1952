import type { Hint, Notifier, OpenedStore } from "holdfast/adapter";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Connection } from "../src/database/connection.ts";
import { openDatabase } from "../src/database/driver.ts";
import { openFile, temporaryFolder } from "./sqlite-under-test.ts";

const WORKER = "01890000-0000-7000-8000-0000000000aa";
const ERROR = { name: "Error", message: "no", kind: "Unknown" } as const;

let folder: ReturnType<typeof temporaryFolder>;
let here: OpenedStore;
let there: OpenedStore;

beforeEach(async () => {
  folder = temporaryFolder();
  here = await openFile(folder.file("app.db"), { durability: "async" });
  there = await openFile(folder.file("app.db"), { durability: "async" });
});

afterEach(async () => {
  await here.store.close();
  await there.store.close();
  folder.remove();
});

function runIdOf(n: number): string {
  return `01890000-0000-7000-8000-${n.toString().padStart(12, "0")}`;
}

function start({ store }: OpenedStore, n: number, queue = "q", hold = false): Promise<unknown> {
  const lane = { namespace: "default", workflow: "w", version: "1", queue, priority: 0 };
  const run = { ...lane, runId: runIdOf(n), id: `run ${n}`, seed: "s", attributes: {}, input: new Uint8Array(0) };
  return store.runs.start({
    starts: [{ run, ifRunning: "fail", ifClosed: "fail", hold, pick: null }],
    holdBy: hold ? { workerId: WORKER, claimId: WORKER } : null,
    replaceError: ERROR,
  });
}

/** Collects hints, and waits for the one that a test expects. */
function listener(notifier: Notifier): { heard: Hint[]; until(isIt: (hint: Hint) => boolean): Promise<void> } {
  const heard: Hint[] = [];
  let look = (): void => {};
  notifier.subscribe((hint) => {
    heard.push(hint);
    look();
  });
  return {
    heard,
    until: (isIt) =>
      new Promise((resolve) => {
        look = () => {
          if (heard.some(isIt)) resolve();
        };
        look();
      }),
  };
}

test("hints of one connection reach the subscribers of another, as they were", async () => {
  const worker = { namespace: "default", name: "w", queues: ["q"], workflows: ["w"], labels: {}, leaseMs: 1_000 };
  await here.store.workers.register({ workerId: WORKER, ...worker });
  const { heard, until } = listener(there.notifier);
  await start(here, 1);
  await start(here, 2, "q", true);
  const message = { kind: "signal", name: "s", messageId: "m", payload: new Uint8Array(0) } as const;
  await here.store.inbox.deliver({
    messages: [{ to: { namespace: "default", runId: runIdOf(2) }, ...message }],
    inboxMax: 10,
  });
  await here.store.runs.terminate({
    runs: [1, 2].map((n) => ({ namespace: "default", runId: runIdOf(n) })),
    error: ERROR,
  });
  await until((hint) => hint.type === "ended" && hint.runId === runIdOf(2));
  expect(heard).toEqual([
    { type: "due", namespace: "default", queue: "q" },
    { type: "inbox", runId: runIdOf(2), workerId: WORKER },
    { type: "taken", runId: runIdOf(2), workerId: WORKER },
    { type: "ended", namespace: "default", runId: runIdOf(1) },
    { type: "ended", namespace: "default", runId: runIdOf(2) },
  ]);
});

test("a subscriber hears its own connection's hints once, and nothing from before it came", async () => {
  await start(here, 1, "before");
  const late = await openFile(folder.file("app.db"));
  const { heard, until } = listener(late.notifier);
  await start(late, 2, "own");
  await start(here, 3, "other");
  await until((hint) => hint.type === "due" && hint.queue === "other");
  expect(heard.map((hint) => hint.type === "due" && hint.queue)).toEqual(["own", "other"]);
  await late.store.close();
});

test("a commit that announces nothing writes no hint, and old hints are dropped", async () => {
  const sql = new Connection(await openDatabase(folder.file("app.db")));
  const count = () => sql.get<{ n: number }>("select count(*) as n from holdfast_hints")?.n;
  const worker = { namespace: "default", name: "w", queues: ["q"], workflows: ["w"], labels: {}, leaseMs: 1_000 };
  await here.store.workers.register({ workerId: WORKER, ...worker });
  await start(here, 1, "q", true);
  await here.store.workers.heartbeat({ namespace: "default", workerId: WORKER, leaseMs: 1_000, draining: false });
  expect(count()).toBe(0);
  for (let n = 2; n < 500; n++) await start(here, n);
  expect(count()).toBeLessThanOrEqual(256 + 64);
  sql.close();
});

test("a notifier that does not watch hears its own process only", async () => {
  const alone = await openFile(folder.file("app.db"), { watch: false });
  const deaf = listener(alone.notifier);
  const { until } = listener(there.notifier);
  await start(here, 1, "other");
  await until((hint) => hint.type === "due");
  await start(alone, 2, "own");
  await deaf.until((hint) => hint.type === "due" && hint.queue === "own");
  expect(deaf.heard).toHaveLength(1);
  await alone.store.close();
});
