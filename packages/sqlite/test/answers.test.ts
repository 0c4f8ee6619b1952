// Starts and claims return runs without reading all columns from the file. Whatever happened to a run before, they must return
// what a read returns afterwards.
import { SettableClock } from "@holdfast/conformance";
import type { NewRun, RunCommit, StartRun, Store, Transition } from "holdfast/adapter";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openFile, temporaryFolder } from "./sqlite-under-test.ts";

const RUN = "01890000-0000-7000-8000-00000000000";
const WORKER = "01890000-0000-7000-8000-0000000000aa";
const ERROR = { name: "Error", message: "no", kind: "Unknown" } as const;
const FAILED = { type: "end", status: "failed", output: null, error: ERROR, unlessBehind: false } as const;
const SWEEP = { suspectAfter: 1, parkAfter: 9, parkError: ERROR, timeoutError: ERROR, timeoutGraceMs: 0, limit: 10 };

let store: Store;
let clock: SettableClock;
let folder: ReturnType<typeof temporaryFolder>;
let claims: number;

beforeEach(async () => {
  folder = temporaryFolder();
  clock = new SettableClock();
  ({ store } = await openFile(folder.file("answers.db"), { clock }));
  claims = 0;
  await register(WORKER);
});

afterEach(async () => {
  await store.close();
  folder.remove();
});

test("a start answers what is in the file: due, delayed, held, with a deadline, in place of another", async () => {
  const more = { attributes: { color: "red", size: 3 }, timeoutMs: 60_000 };
  await starts(run(1), false);
  await starts({ ...run(2), ...more, startDelayMs: 1_000 }, true);
  await starts({ ...run(3), ...more }, true);
  await starts({ ...run(4), id: "id-1" }, true);
  await starts({ ...run(5), runId: `${RUN}A` }, false);

  async function starts(newRun: NewRun, hold: boolean): Promise<void> {
    const outcome = await start(newRun, hold);
    const { input: _input, output: _output, error: _error, ...row } = await read(newRun.runId);
    expect(outcome).toEqual({ outcome: "created", run: row });
    expect(await start(newRun, hold)).toEqual(outcome);
  }
});

test("a child is answered with its lineage, at its start, by a claim, and by the claim of what continues it", async () => {
  await start(run(8), true);
  const name = { runId: `${RUN}8`, id: "id-8" };
  const lineage = { parent: { namespace: "default", ...name }, op: "c", root: name, depth: 1 };
  const outcome = await start(run(1), false, { parent: { ...lineage, policy: "cancel" } });
  const { input: _input, output: _output, error: _error, ...row } = await read(`${RUN}1`);
  expect(outcome).toEqual({ outcome: "created", run: row });
  expect(row.lineage).toEqual(lineage);
  expect((await claim())[0]).toMatchObject({ lineage });
  await commit(1, 0, { type: "continue", next: { ...run(2), id: "id-1" }, carried: [] });
  expect((await claim())[0]).toMatchObject({ runId: `${RUN}2`, lineage });
});

test("a start with messages answers what is in the file", async () => {
  const messages = [{ kind: "signal", name: "s", messageId: "m", payload: new Uint8Array(1) }] as const;
  const outcome = await start(run(1), true, { messages });
  const { input: _input, output: _output, error: _error, ...row } = await read(`${RUN}1`);
  expect(outcome).toEqual({ outcome: "created", run: row, messages: ["delivered"] });
  expect(row).toMatchObject({ delivered: 1, consumed: 0, status: "running" });
});

test("a run id that belongs to a run of another id is answered with that run; nothing is created", async () => {
  const { run: first } = await start(run(1), false);
  expect(await start({ ...run(1), id: "other" }, false)).toEqual({ outcome: "created", run: first });
  expect(await store.runs.read({ runs: [{ namespace: "default", id: "other" }] })).toEqual([null]);
  expect(await store.runs.count({ namespace: "default", atMost: null })).toBe(1);
});

test("a claim returns what is in the file, whatever the run has been through", async () => {
  await start({ ...run(1), attributes: { color: "red" }, timeoutMs: 60_000 }, false);
  expect((await claim())[0]).toMatchObject({ status: "running", epoch: 1, attributes: { color: "red" } });

  // Slept, with a message in its inbox.
  await commit(1, 0, { type: "suspend", status: "sleeping", availableAt: clock.now(), waitingFor: ["nap"] });
  await store.inbox.deliver({
    messages: [
      {
        to: { namespace: "default", runId: `${RUN}1` },
        kind: "signal",
        name: "s",
        messageId: "m",
        payload: new Uint8Array(2),
      },
    ],
    inboxMax: 10,
  });
  expect((await claim())[0]).toMatchObject({ epoch: 2, commit: 1, eventCount: 1, delivered: 1, waitingFor: [] });

  // Parked, and resumed.
  await commit(2, 1, { type: "park", error: ERROR });
  const resumed = { type: "run_resumed", op: null } as const;
  await store.runs.resumeIfParked({
    run: { namespace: "default", runId: `${RUN}1` },
    epoch: 2,
    event: resumed,
    dueAt: null,
  });
  expect((await claim())[0]).toMatchObject({ epoch: 4, error: null });

  // Compensating, and suspended in the middle.
  await commit(4, 2, { type: "hold", status: "compensating" }, 5);
  await commit(4, 3, { type: "release" }, 6);
  expect((await claim())[0]).toMatchObject({ epoch: 5, status: "compensating" });

  // Failed, and reopened.
  await commit(5, 4, { ...FAILED, compensation: "compensated" }, 7);
  const event = { type: "run_retried", op: null } as const;
  await store.runs.reopenIfFailed({ run: { namespace: "default", runId: `${RUN}1` }, eventCount: 7, event });
  expect((await claim())[0]).toMatchObject({ eventCount: 8, compensation: null, error: null, endedAt: null });

  // Its worker died; then it is claimed alone.
  clock.ms += 60_001;
  await store.workers.sweep(SWEEP);
  const other = `${WORKER.slice(0, -1)}b`;
  await register(other);
  expect((await claim(other, true))[0]).toMatchObject({ deaths: 1, suspect: true, alone: true, heldBy: other });
});

test("a claim answers the run that another one continues as", async () => {
  await start(run(1), false);
  await claim();
  await commit(1, 0, { type: "continue", next: { ...run(2), id: "id-1" }, carried: [] });
  expect((await claim())[0]).toMatchObject({ firstRunId: `${RUN}1`, continuedFrom: `${RUN}1`, continuedAs: null });
});

async function register(workerId: string): Promise<void> {
  const worker = { namespace: "default", name: "w", queues: ["q"], workflows: ["w"], labels: {}, leaseMs: 60_000 };
  await store.workers.register({ workerId, ...worker });
}

function run(n: number): NewRun {
  return {
    ...{
      namespace: "default",
      runId: `${RUN}${n}`,
      id: `id-${n}`,
      workflow: "w",
      version: "1",
      queue: "q",
      priority: 0,
    },
    ...{ input: new Uint8Array([n]), seed: "s", attributes: {} },
  };
}

async function start(newRun: NewRun, hold: boolean, part: Partial<StartRun> = {}) {
  const { outcomes } = await store.runs.start({
    starts: [{ run: newRun, ifRunning: "replace", ifClosed: "start", hold, pick: 0.5, ...part }],
    inboxMax: 10,
    holdBy: { workerId: WORKER, claimId: `${RUN}9` },
    replaceError: ERROR,
  });
  return outcomes[0] as (typeof outcomes)[0];
}

async function read(runId: string) {
  const [found] = await store.runs.read({ runs: [{ namespace: "default", runId }] });
  if (!found) throw new Error(`run ${runId} is not there`);
  return found;
}

/** One run; a repeated claim returns it again. */
async function claim(workerId = WORKER, solo = false) {
  claims += 1;
  const claimId = `01890000-0000-7000-8000-0000000001${String(claims).padStart(2, "0")}`;
  const handlers = [{ workflow: "w", version: "1" }];
  const params = { workerId, claimId, namespace: "default", queues: ["q"], handlers, limit: 10, solo };
  const { runs } = await store.runs.claim({ ...params, again: false });
  expect(runs).toEqual([await read(runs[0]?.runId ?? "")]);
  expect((await store.runs.claim({ ...params, again: true })).runs).toEqual(runs);
  return runs;
}

/** `seq`: where its event stands; notes of others may stand between the events of commits. */
async function commit(epoch: number, number: number, transition: Transition, seq = number + 1): Promise<void> {
  const event = { seq, type: "step_completed", op: "s", at: clock.now() } as const;
  const nothing = { consumed: number === 0 ? 0 : 1, attributes: null, clearDeadline: false };
  const one: RunCommit = {
    namespace: "default",
    runId: `${RUN}1`,
    workerId: WORKER,
    epoch,
    commit: number,
    events: [event],
    eventCount: seq,
    ...nothing,
    transition,
  };
  const { outcomes } = await store.runs.commit({ commits: [one] });
  expect(outcomes[0]?.outcome).toBe("written");
}
