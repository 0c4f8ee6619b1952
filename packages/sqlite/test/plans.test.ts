import {
  departedRun,
  type NewTask,
  type RunCommit,
  type RunStatus,
  type StartRun,
  type Store,
  type TaskResult,
  type Transition,
} from "holdfast/adapter";
import { SeededSource, VirtualClock } from "holdfast/testing";
import { expect, test } from "vitest";
import { openParts } from "../src/open-store.ts";
import { silent, temporaryFolder } from "./sqlite-under-test.ts";

/** Scanned on purpose: small tables (one lane per kind of work), and lists that a call passes as a parameter or that a row has. */
/** Tables with few rows (one for each lane, one for each queue that has limits), and what is not a table: n is one row of parameters. */
const SCANNED_ON_PURPOSE =
  /^SCAN (?:n|holdfast_limited USING COVERING INDEX .*|holdfast_lanes|holdfast_migrations|sqlite_schema|(?:json_each|w EXISTS) VIRTUAL TABLE .*)$/;

const SORTED = /indexed by (?!holdfast_tasks_held|holdfast_asks_open|holdfast_runs_ended)/;

const RUN = "01890000-0000-7000-8000-00000000000";
const WORKER = "01890000-0000-7000-8000-0000000000aa";
const ERROR = { name: "Error", message: "no", kind: "Unknown" } as const;

test("no statement of the store reads a whole table, however many runs there are", async () => {
  const folder = temporaryFolder();
  const options = { clock: new VirtualClock(), random: new SeededSource(1), log: silent };
  const { store, connection } = await openParts(`file:${folder.file("plans.db")}`, options);
  await useEverything(store);
  await useTasks(store);
  await converse(store);
  await transfer(store);

  const plans = connection.statements().map((sql) => ({ sql, steps: planOf(sql) }));
  const scans = plans.filter(({ steps }) => steps.some((step) => isScan(step)));
  expect(scans).toEqual([]);
  // Lists are read from the index in order; only runs of the same millisecond are sorted, and what is few: held tasks, questions,
  // and the runs that ended in the wanted time (if those are many, the list walks another index).
  const sorts = plans.filter(({ sql, steps }) => SORTED.test(sql) && steps.some(isFullSort));
  expect(sorts).toEqual([]);
  expect(plans.filter(({ sql }) => sql.includes("indexed by")).length).toBeGreaterThan(10);
  const steps = plans.flatMap((plan) => plan.steps).join("\n");
  expect(steps).toContain("holdfast_runs_due (lane_id=? AND suspect=? AND available_at<?)");
  expect(steps).toContain("holdfast_runs_ended (namespace_key=? AND status=? AND ended_at>? AND ended_at<?)");
  expect(steps).toContain("holdfast_events_seq (run_key=? AND seq=?)");
  expect(steps).toContain("holdfast_events_seq (run_key=? AND seq>?)");
  expect(steps).toContain("holdfast_tasks_due (lane_id=? AND suspect=? AND available_at<?)");
  expect(steps).toContain("holdfast_tasks_kept (lane_id=? AND status=? AND (run_id,seq)>(?,?))");
  expect(steps).toContain("holdfast_tasks_expiry (expires_at<?)");
  expect(steps).toContain("COVERING INDEX holdfast_tasks_held (held_by=?)");
  expect(steps).toContain("holdfast_tasks_held (held_by=? AND canceled=?)");
  expect(steps).toContain("holdfast_inbox_message (chain_key=? AND message_id=?)");
  expect(steps).toContain("holdfast_lineages_parent (parent_key=? AND created_at<?)");
  expect(steps).toContain("holdfast_forks_origin (origin_run_id=? AND created_at<?)");
  expect(steps).toContain("holdfast_children_run (parent_key=? AND run_id=?)");
  expect(steps).toContain("holdfast_children_to_close (parent_key=? AND to_close=?)");
  expect(steps).toContain("COVERING INDEX holdfast_children_to_close (parent_key=? AND to_close>?)");
  expect(steps).toContain("holdfast_watches_watcher (chain_key=? AND run_id=? AND op=?)");
  expect(steps).toContain("holdfast_debts USING INTEGER PRIMARY KEY (rowid>?)");
  expect(steps).toContain("COVERING INDEX holdfast_debts_at (at<?)");
  expect(steps).toContain("COVERING INDEX holdfast_watches_of (run_id=?)");
  expect(steps).toContain("COVERING INDEX holdfast_updates_of (reply_run_id=?)");
  expect(steps).toContain("holdfast_workers_gone (stopped_at>?)");
  expect(steps).toContain("holdfast_workers_watched (status<?)");
  expect(steps).toContain("holdfast_departures_namespace (namespace=? AND run_id>?)");
  expect(steps).toContain("holdfast_asks_open (namespace=? AND workflow=? AND version=?)");
  // Pages of children to close and of watchers are read in order: with many of them, a sort would read all for every page.
  const inOrder = plans.filter(({ sql }) => /order by (?:child_key|watch_key|debt_no)/.test(sql));
  expect(inOrder.filter((plan) => plan.steps.some(isFullSort))).toEqual([]);
  expect(inOrder.length).toBe(4);
  const pages = plans.filter(({ sql }) => /\([lr]\.created_at, r\.run_id\) </.test(sql) && sql.includes("indexed by"));
  for (const page of pages) expect(page.steps.join("\n")).toContain("created_at<?");
  expect(pages.length).toBeGreaterThan(0);

  await store.close();
  folder.remove();

  function planOf(sql: string): string[] {
    if (/^(?:begin|commit|pragma)/.test(sql)) return [];
    const parameters = sql.split("?").length - 1;
    const values = Array.from({ length: parameters }, () => 1);
    return connection.all<{ detail: string }>(`explain query plan ${sql}`, ...values).map(({ detail }) => detail);
  }
});

function isScan(step: string): boolean {
  if (SCANNED_ON_PURPOSE.test(step)) return false;
  return /^SCAN (?!\(|CONSTANT)/.test(step);
}

function isFullSort(step: string): boolean {
  return step === "USE TEMP B-TREE FOR ORDER BY";
}

/** Every method, and every shape of a list. */
async function useEverything(store: Store): Promise<void> {
  const run = (n: number) => ({
    ...{ namespace: "default", runId: `${RUN}${n}`, id: "a", workflow: "w", version: "1", queue: "q", priority: 0 },
    ...{ input: new Uint8Array(1), seed: "s", attributes: { color: "red" }, timeoutMs: 1_000 },
  });
  const worker = { namespace: "default", name: "w", queues: ["q"], workflows: ["w"], labels: {}, leaseMs: 1_000 };
  await store.workers.register({ workerId: WORKER, ...worker });
  const holdBy = { workerId: WORKER, claimId: WORKER };
  const start = (n: number, hold: boolean, by = holdBy) =>
    store.runs.start({
      starts: [{ run: run(n), ifRunning: "replace", ifClosed: "start", hold, pick: 0.5 }],
      holdBy: by,
      replaceError: ERROR,
    });
  const commit = (n: number, epoch: number, number: number, transition: Transition) =>
    store.runs.commit({
      commits: [
        {
          ...{
            namespace: "default",
            workerId: WORKER,
            runId: `${RUN}${n}`,
            epoch,
            commit: number,
            consumed: 0,
            attributes: { color: "blue" },
          },
          ...{ clearDeadline: number > 0, transition },
          events: [{ seq: number + 1, type: "step_completed", op: "s", at: 1 }],
          eventCount: number + 1,
        },
      ],
    });
  await start(1, true);
  await commit(1, 1, 0, { type: "hold", status: "compensating" });
  await store.inbox.deliver({
    messages: [
      {
        to: { namespace: "default", runId: `${RUN}1` },
        kind: "signal",
        name: "s",
        messageId: "m",
        payload: new Uint8Array(0),
      },
    ],
    inboxMax: 10,
  });
  await commit(1, 1, 1, { type: "suspend", status: "waiting", availableAt: null, waitingFor: ["s"] });
  await commit(1, 1, 2, { type: "continue", next: run(2), carried: [] });
  const claim = { workerId: WORKER, namespace: "default", queues: ["q"], limit: 10, solo: false };
  const handlers = [{ workflow: "w", version: "1" }];
  await store.runs.claim({ ...claim, claimId: `${RUN}7`, again: false, handlers });
  await store.runs.claim({ ...claim, claimId: `${RUN}7`, again: true, handlers });
  await store.inbox.deliver({
    messages: [
      {
        to: { namespace: "default", runId: `${RUN}1` },
        kind: "signal",
        name: "s",
        messageId: "n",
        payload: new Uint8Array(0),
      },
    ],
    inboxMax: 10,
  });
  await commit(2, 1, 0, { type: "park", error: ERROR });
  const resumed = { type: "run_resumed", op: null } as const;
  const second = { namespace: "default", id: "a" };
  await store.runs.resumeIfParked({ run: second, epoch: 1, event: resumed, dueAt: null });
  await store.runs.pauseIfIdle({ run: second, epoch: 2, error: ERROR });
  await store.inbox.deliver({
    messages: [{ to: second, kind: "cancel", name: "", messageId: "c", payload: new Uint8Array(0) }],
    inboxMax: 10,
  });
  await store.runs.terminate({ runs: [{ namespace: "default", runId: `${RUN}2` }], error: ERROR });
  await start(3, true);
  const failed = { status: "failed", output: null, error: ERROR, unlessBehind: false, compensation: null } as const;
  await commit(3, 1, 0, { type: "end", ...failed });
  await store.runs.reopenIfFailed({
    run: { namespace: "default", runId: `${RUN}3` },
    eventCount: 1,
    event: { type: "run_retried", op: null },
  });
  const forked = await store.runs.fork({
    ...{ origin: { namespace: "default", runId: `${RUN}3` }, copied: 1, judged: 1, numberedFrom: 0 },
    run: { ...run(7), id: "fork" },
    event: { type: "run_forked", op: null },
  });
  expect(forked.outcome).toBe("forked");
  await start(4, true);
  await store.workers.heartbeat({ namespace: "default", workerId: WORKER, leaseMs: 1, draining: false });
  await store.workers.readHeld({ namespace: "default", workerId: WORKER });
  await store.runs.releaseIfHeld({ namespace: "default", workerId: WORKER, runs: [{ runId: `${RUN}4`, epoch: 1 }] });
  await store.workers.stop({ namespace: "default", workerId: WORKER });
  const sweep = { suspectAfter: 1, parkAfter: 1, parkError: ERROR, timeoutError: ERROR, timeoutGraceMs: 0, limit: 10 };
  await store.workers.sweep(sweep);
  await store.versions.register({ namespace: "default", versions: [{ workflow: "w", version: "1", hash: "h" }] });
  for (const change of [{ isDefault: true }, { share: 0.5 }, { deprecated: true }] as const)
    await store.versions.updateIfKnown({ namespace: "default", workflow: "w", version: "1", change });
  await store.versions.list({ namespace: "default" });
  await store.versions.list({ namespace: "default", workflow: "w" });
  await store.workers.list({ namespace: "default" });
  await store.workers.list({ namespace: "default", goneSince: 1 });
  await store.queues.backlog({ namespace: "default", atMost: 10, lateMs: 1 });
  const event = { type: "run_restarted", op: null, meta: { by: "watchdog", reason: "stalled_run" } } as const;
  const stuck = { workerId: `${WORKER.slice(0, -1)}c`, claimId: WORKER };
  await store.workers.register({ workerId: stuck.workerId, ...worker });
  await start(9, true, stuck);
  const known = { namespace: "default", runId: `${RUN}9`, epoch: 1, commit: 0, eventCount: 0 };
  expect(await store.runs.restartIfHeld({ ...known, event })).toEqual({ outcome: "restarted" });
  const hold = { runId: `${RUN}9`, epoch: 2 };
  for (const [messageId, to] of Object.entries({ h: { runId: hold.runId }, i: { id: "a" } })) {
    const signal = { kind: "signal", name: "s", messageId, payload: new Uint8Array(0), hold } as const;
    const messages = [{ ...signal, to: { namespace: "default", ...to } }];
    await store.inbox.deliver({ messages, inboxMax: 10, holdBy: { workerId: stuck.workerId, claimId: WORKER } });
  }
  await store.runs.read({
    runs: [
      { namespace: "default", runId: `${RUN}1` },
      { namespace: "default", id: "a" },
    ],
  });
  await store.inbox.read({ runs: [{ namespace: "default", runId: `${RUN}1`, after: 0 }] });
  await store.histories.read({ runs: [{ namespace: "default", runId: `${RUN}1`, afterSeq: 0 }], limitPerRun: 10 });
  await listInEveryWay(store);
  const purged = await store.runs.purge({ namespace: "default", endedBefore: Number.MAX_SAFE_INTEGER, limit: 1 });
  expect(purged).toMatchObject({ purged: 1, more: true });
}

/** Every method of tasks, and everything that a commit can do to them. */
async function useTasks(store: Store): Promise<void> {
  const namespace = "default";
  const workerId = `${WORKER.slice(0, -1)}b`;
  const [runId, claimId] = [`${RUN}8`, `${RUN}9`];
  const worker = { namespace, name: "w", queues: ["q"], workflows: ["w"], labels: {}, leaseMs: 1_000 };
  await store.workers.register({ workerId, ...worker, tasks: ["mail"] });
  const run = { namespace, runId, id: "t", workflow: "w", version: "1", queue: "q", priority: 0, seed: "s" };
  await store.runs.start({
    starts: [
      {
        run: { ...run, attributes: {}, input: new Uint8Array(1) },
        ...{ ifRunning: "fail", ifClosed: "fail", hold: true, pick: null },
      },
    ],
    holdBy: { workerId, claimId },
    replaceError: ERROR,
  });
  const task: Omit<NewTask, "seq" | "inputSeq" | "op"> = {
    ...{ name: "mail", queue: "q", requires: ["smtp"], priority: 0, external: false, failOnCrash: false },
    ...{ secret: "0".repeat(32), holdBy: null },
    ...{ timeoutMs: 1_000, startTimeoutMs: 1_000, totalTimeoutMs: 9_000, heartbeatMs: 100 },
  };
  const kinds = [{}, { holdBy: { workerId, claimId } }, { external: true }, {}];
  const tasks = kinds.map((kind, i): NewTask => ({ ...task, ...kind, seq: i + 1, inputSeq: i + 1, op: "mail" }));
  const commit = (number: number, part: Partial<RunCommit>) =>
    store.runs.commit({
      commits: [
        {
          ...{ namespace, workerId, runId, epoch: 1, commit: number, consumed: 0, attributes: null },
          ...{ clearDeadline: false, events: [], transition: { type: "hold", status: "running" } },
          eventCount: 4,
          ...part,
        },
      ],
    });
  const events = tasks.map(({ seq }) => ({ seq, type: "task_scheduled", op: "mail", at: 1 }) as const);
  await commit(0, { events, tasks });
  await commit(0, { events, tasks });
  const claim = { workerId, claimId: `${RUN}7`, namespace, queues: ["q"], names: ["mail"], labels: ["smtp"] };
  const claimed = await store.tasks.claim({ ...claim, again: true, limit: 1, solo: false });
  expect(claimed).toMatchObject({ tasks: [{ seq: 1 }], moreDue: true });
  const key = { namespace, runId, seq: 1 };
  const by = { type: "holder", workerId } as const;
  await store.tasks.position({ ...key, seq: 4, atMost: 10 });
  await store.tasks.beat({ beats: [{ ...key, epoch: 1, by, details: new Uint8Array(1) }] });
  await store.workers.readHeldTasks({ namespace, workerId });
  const failed: TaskResult = { type: "failed", payload: new Uint8Array(1), failures: [], keep: true };
  await store.tasks.finish({ finishes: [{ ...key, epoch: 1, by, result: failed }] });
  const token = { type: "token", secret: task.secret, finishId: "f" } as const;
  const completed: TaskResult = { type: "completed", payload: new Uint8Array(1) };
  for (const outcome of ["done", "done"]) {
    const { outcomes } = await store.tasks.finish({
      finishes: [{ ...key, seq: 3, epoch: 0, by: token, result: completed }],
    });
    expect(outcomes).toEqual([{ outcome }]);
  }
  await store.tasks.cancel({ namespace, tasks: [{ runId, seq: 2 }] });
  await store.workers.heartbeat({ namespace, workerId, leaseMs: 1, draining: false });
  await store.tasks.expired({ limit: 10 });
  await store.tasks.read({ namespace, tasks: [{ runId, seq: 2 }] });
  for (const status of [undefined, "due", "held", "external", "dead"] as const)
    for (const part of [{}, { name: "mail", queue: "q" }, { runId }, { after: { runId, seq: 1 } }])
      await store.tasks.list({ namespace, limit: 10, ...part, ...(status && { status }) });
  await commit(1, { settled: [1], results: [1, 2], dropTasks: true, consumed: 2 });
}

/** Every method of conversations, and everything that a start, a commit and an end can do about them. */
/** Runs leave, and come back. */
async function transfer(store: Store): Promise<void> {
  await store.transfers.identify({ storeId: RUN });
  const namespace = "default";
  const runs = await store.runs.list({ namespace, limit: 1_000 });
  for (const { runId, epoch, commit, delivered } of runs.filter(({ endedAt }) => endedAt === null)) {
    const place = { departureId: runId, target: "there/default", to: "there" };
    const params = { namespace, runId, epoch, commit, delivered, ...place, error: ERROR };
    await store.transfers.departIfIdle(params);
  }
  const departures = await store.transfers.departures({ namespace, limit: 10 });
  expect(departures.length).toBeGreaterThan(0);
  for (const { runId, epoch, rest } of departures) {
    await store.transfers.departures({ namespace, runId, limit: 1 });
    const [run] = await store.runs.read({ runs: [{ namespace, runId }] });
    if (!run) throw new Error(`there is no run ${runId}`);
    const knownIds = [{ messageId: "known", kind: "signal" }] as const;
    const image = {
      run: departedRun({ ...run, epoch: epoch + 1 }, rest),
      events: [],
      messages: [],
      rest: { ...rest, knownIds },
    };
    expect(await store.transfers.arrive({ image })).toEqual({ outcome: "arrived" });
    await store.transfers.confirm({ namespace, runId, epoch });
    const closed = { ...run, runId: `${RUN.slice(0, -1)}ff`, id: "closed", endedAt: 1, status: "completed" } as const;
    await store.transfers.arrive({ image: { ...image, run: closed } });
  }
}

async function converse(store: Store): Promise<void> {
  const namespace = "default";
  const workerId = `${WORKER.slice(0, -1)}c`;
  const worker = { namespace, name: "w", queues: ["q"], workflows: ["w"], labels: {}, leaseMs: 60_000 };
  await store.workers.register({ workerId, ...worker });
  const ids = Array.from({ length: 6 }, (_, i) => `${RUN.slice(0, -1)}c${i}`);
  const [parent, child, other, next, reopened, never] = ids as [string, string, string, string, string, string];
  const nothing = { workflow: "w", version: "1", queue: "q", priority: 0, input: new Uint8Array(1), seed: "s" };
  const run = (runId: string, id = runId) => ({ namespace, runId, id, ...nothing, attributes: {} });
  const lineage = { parent: { namespace, runId: parent, id: parent }, root: { runId: parent, id: parent }, depth: 1 };
  const update = { kind: "update", name: "u", messageId: "u", payload: new Uint8Array(1) } as const;
  const start = (runId: string, part: Partial<StartRun> = {}) =>
    store.runs.start({
      starts: [{ run: run(runId), ifRunning: "replace", ifClosed: "start", hold: true, pick: null, ...part }],
      ...{ holdBy: { workerId, claimId: workerId }, replaceError: ERROR, inboxMax: 10 },
    });
  const commit = (runId: string, number: number, part: Partial<RunCommit>) =>
    store.runs.commit({
      commits: [
        {
          ...{ namespace, workerId, runId, epoch: 1, commit: number, consumed: 0, attributes: null },
          ...{ clearDeadline: false, transition: { type: "hold", status: "running" }, ...part },
          events: [{ seq: number + 1, type: "step_completed", op: "s", at: 1 }],
          eventCount: number + 1,
        },
      ],
    });
  const end = { type: "end", status: "failed", output: null, error: ERROR, unlessBehind: false } as const;
  const transition: Transition = { ...end, compensation: null };
  await start(parent);
  const family = { parent: { ...lineage, op: "c", policy: "cancel" } } as const;
  for (const runId of [child, other, reopened]) await start(runId, { ...family, messages: [update] });
  const by = { namespace, runId: parent, op: "w" };
  await store.namespaces.allow({ namespace, other: "else" });
  await store.namespaces.read({ namespace });
  await store.runs.watch({ watches: [{ run: { namespace, runId: child }, by: { ...by, namespace: "else" } }] });
  await store.inbox.deliver({
    messages: [{ ...update, messageId: "v", to: { namespace, runId: child }, replyTo: by }],
    inboxMax: 10,
  });
  await commit(child, 0, { consumed: 1, replies: [{ number: 1, seq: 1 }] });
  await commit(child, 1, { consumed: 1, transition: { type: "continue", next: run(next, child), carried: [] } });
  await store.inbox.replies({
    updates: ["u", "v"].map((messageId) => ({ run: { namespace, runId: child }, messageId })),
  });
  await commit(parent, 0, { closes: [other, never] });
  await start(never, family);
  await commit(reopened, 0, { transition });
  const event = { type: "run_retried", op: null } as const;
  await store.runs.reopenIfFailed({ run: { namespace, runId: reopened }, eventCount: 1, event });
  await store.runs.terminate({ runs: [{ namespace, id: child }], error: ERROR });
  await commit(parent, 1, { transition });
  await store.runs.watch({ watches: [{ run: { namespace, runId: parent }, by }] });
  await store.debts.read({ runs: [{ namespace, runId: parent }], limit: 10 });
  const debts = await store.debts.read({ limit: 10 });
  expect(debts.map(({ kind, runId }) => [kind, runId])).toEqual([
    ["close", parent],
    ["result", next],
    ["reply", next],
  ]);
  for (const before of [undefined, { createdAt: Number.MAX_SAFE_INTEGER, runId: never }])
    for (const part of [{}, { id: child, workflow: "w" }, { statuses: ["failed", "running"] as const }])
      await store.runs.list({ namespace, parent, limit: 10, ...part, ...(before && { before }) });
  await store.debts.pay({
    debts: debts.map((debt) => ({ ...debt, children: [other, reopened], watchers: [by], replies: ["v"] })),
  });
  await store.namespaces.disallow({ namespace, other: "else" });
  const ask = { askId: never, namespace, runId: parent, workflow: "w", version: "1", name: "q", ttlMs: 1_000 };
  await store.asks.ask({ asks: [{ ...ask, payload: new Uint8Array(1) }] });
  await store.asks.take({ namespace, handlers: [{ workflow: "w", version: "1" }], limit: 1 });
  await store.asks.answer({ answers: [{ ...ask, answer: { type: "failed", error: ERROR } }] });
  await store.asks.read({ asks: [ask] });
  await store.asks.forget({ asks: [ask] });
  await store.runs.purge({ namespace, endedBefore: Number.MAX_SAFE_INTEGER, limit: 100 });
}

async function listInEveryWay(store: Store): Promise<void> {
  const statuses: (readonly RunStatus[] | undefined)[] = [undefined, ["failed"], ["completed", "waiting"]];
  const parts = [
    {},
    { workflow: "w" },
    { createdAfter: 1 },
    { createdBefore: 2 },
    { version: "1", queue: "q" },
    { attributes: { color: "red" } },
    { id: "a" },
    { before: { createdAt: 9, runId: `${RUN}1` } },
    { workflow: "w", before: { createdAt: 9, runId: `${RUN}1` } },
    { waitingFor: "charge" },
    { waitingFor: "receive:", workflow: "w" },
    { retrying: true as const, waitingSince: 1 },
    { error: "Timeout" },
    { endedAfter: 1, endedBefore: 2 },
    { endedBefore: 2, before: { createdAt: 9, runId: `${RUN}1` } },
    { forkedFrom: `${RUN}3` },
    { forkedFrom: `${RUN}3`, id: "fork", before: { createdAt: 9, runId: `${RUN}1` } },
    { forkedFrom: `${RUN}3`, parent: `${RUN}3` },
  ];
  for (const some of statuses) {
    for (const part of parts) {
      const filter = { namespace: "default", ...part, ...(some ? { statuses: some } : {}) };
      await store.runs.list({ ...filter, limit: 10 });
      await store.runs.count({ ...filter, atMost: 10 });
    }
  }
}
