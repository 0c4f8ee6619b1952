// What tasks cost in the file: most of them are held by the worker that schedules them, and gone with its next commit.
import { type Hint, type NewTask, type RunCommit, TASK_GRACE_MS } from "holdfast/adapter";
import { SeededSource, VirtualClock } from "holdfast/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openParts } from "../src/open-store.ts";
import { silent, temporaryFolder } from "./sqlite-under-test.ts";

const RUN = "01890000-0000-7000-8000-000000000001";
const CLAIM = "01890000-0000-7000-8000-000000000002";
const WORKER = "01890000-0000-7000-8000-0000000000aa";
const OTHER = "01890000-0000-7000-8000-0000000000bb";
const ERROR = { name: "Error", message: "no", kind: "Unknown" } as const;

const TASK: NewTask = {
  ...{ seq: 1, inputSeq: 1, op: "mail", name: "mail", queue: "q", requires: ["smtp"], priority: 0, external: false },
  ...{ failOnCrash: false, secret: "0".repeat(32), holdBy: { workerId: WORKER, claimId: CLAIM } },
  ...{ timeoutMs: null, startTimeoutMs: null, totalTimeoutMs: null, heartbeatMs: null },
};

let folder: ReturnType<typeof temporaryFolder>;
let parts: Awaited<ReturnType<typeof openParts>>;
let commits: number;

beforeEach(async () => {
  folder = temporaryFolder();
  const options = { clock: new VirtualClock(), random: new SeededSource(1), log: silent };
  parts = await openParts(`file:${folder.file("tasks.db")}`, options);
  commits = 0;
  for (const workerId of [WORKER, OTHER]) {
    const worker = { namespace: "default", name: "w", queues: ["q"], workflows: ["w"], labels: {}, leaseMs: 60_000 };
    await parts.store.workers.register({ workerId, ...worker, tasks: ["mail"] });
  }
  const run = { namespace: "default", runId: RUN, id: "a", workflow: "w", version: "1", queue: "q", priority: 0 };
  await parts.store.runs.start({
    starts: [
      {
        run: { ...run, seed: "s", attributes: {}, input: new Uint8Array(1) },
        ...{ ifRunning: "fail", ifClosed: "fail", hold: true, pick: null },
      },
    ],
    holdBy: { workerId: WORKER, claimId: CLAIM },
    replaceError: ERROR,
  });
});

afterEach(async () => {
  await parts.store.close();
  folder.remove();
});

test("scheduling a held task is one statement of the commit, and so is settling it", async () => {
  await commit({ tasks: [TASK] }); // its lane is known from now on
  await commit({ settled: [1] });
  const plain = await statements(() => commit({}));
  const task = { ...TASK, seq: commits + 1, inputSeq: commits + 1 };
  expect(await statements(() => commit({ tasks: [task] }))).toBe(plain + 1);
  expect(await statements(() => commit({ settled: [task.seq] }))).toBe(plain + 1);
});

test("a held task without a time limit is in one index only, and leaves nothing behind", async () => {
  const entries = (index: string, column: string) =>
    parts.connection.get<{ n: number }>(
      `select count(*) as n from holdfast_tasks indexed by holdfast_tasks_${index} where ${column} is not null`,
    )?.n;
  const all = () => [
    entries("due", "available_at"),
    entries("held", "held_by"),
    entries("expiry", "expires_at"),
    parts.connection.get<{ n: number }>("select count(*) as n from holdfast_tasks where status >= 3")?.n,
  ];
  await commit({ tasks: [TASK] });
  expect(all()).toEqual([0, 1, 0, 0]);
  await commit({ settled: [1] });
  expect(all()).toEqual([0, 0, 0, 0]);
});

test("a worker that takes a task from itself is not hinted", async () => {
  const heard: Hint[] = [];
  const heardAll = new Promise<void>((resolve) => {
    parts.notifier.subscribe((hint) => {
      heard.push(hint);
      if ("workerId" in hint && hint.workerId === OTHER) resolve();
    });
  });
  const written = () => parts.connection.get<{ n: number }>("select count(*) as n from holdfast_hints")?.n;
  await commit({ tasks: [TASK] });
  await commit({ settled: [1], tasks: [{ ...TASK, seq: 2, inputSeq: 2 }] });
  await commit({ dropTasks: true });
  expect(written()).toBe(0);
  const elsewhere = { ...TASK, seq: 4, inputSeq: 4, holdBy: { workerId: OTHER, claimId: CLAIM } };
  await commit({ tasks: [elsewhere] });
  await commit({ settled: [4] });
  expect(written()).toBe(1);
  await heardAll;
  const hint = { type: "task", runId: RUN };
  expect(heard).toEqual([{ ...hint, seq: 4, workerId: OTHER }]);
});

test("limits of half a millisecond are rounded up", async () => {
  await commit({ tasks: [{ ...TASK, timeoutMs: 0.5, totalTimeoutMs: 1_000_000.5 }] });
  const [task] = await parts.store.tasks.read({ namespace: "default", tasks: [{ runId: RUN, seq: 1 }] });
  expect(task).toMatchObject({ expires: "timeout", expiresAt: (task?.createdAt ?? 0) + TASK_GRACE_MS + 1 });
});

/** One event, and what else the commit is to do. */
async function commit(part: Partial<RunCommit>): Promise<void> {
  const seq = commits + 1;
  const { outcomes } = await parts.store.runs.commit({
    commits: [
      {
        ...{ namespace: "default", workerId: WORKER, runId: RUN, epoch: 1, commit: commits, consumed: 0 },
        ...{ attributes: null, clearDeadline: false, transition: { type: "hold", status: "running" } },
        events: [{ seq, type: "task_scheduled", op: "mail", at: 1 }],
        eventCount: part.events ? (part.events.at(-1)?.seq ?? commits) : seq,
        ...part,
      },
    ],
  });
  commits += 1;
  expect(outcomes[0]?.outcome).toBe("written");
}

/** How many statements run, with `begin` and `commit`. */
async function statements(body: () => Promise<void>): Promise<number> {
  const methods = ["get", "all", "columns", "allColumns", "execute", "run", "insert", "insertIfNew"] as const;
  const spies = methods.map((method) => vi.spyOn(parts.connection, method));
  await body();
  const count = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  for (const spy of spies) spy.mockRestore();
  return count;
}
