// Measures how fast 500 live runs commit one event each: through the store, and in a bare loop that inserts the same rows.
// Run it with: npx tsx --conditions=holdfast-source packages/sqlite/bench/commits.ts
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type HistoryEvent, type NewTask, type RunCommit, type Store, systemPorts, uuidV7 } from "holdfast/adapter";
import { Connection } from "../src/database/connection.ts";
import { openDatabase } from "../src/database/driver.ts";
import { openStore } from "../src/index.ts";

const RUNS = 500;
const ROUNDS = 60;
const REPETITIONS = 5;
const payload = new TextEncoder().encode('{"ok":true,"amount":1234567}');
const log = { debug() {}, info() {}, warn() {}, error() {} };
const { clock, random } = systemPorts;
const newId = () => uuidV7(clock.now(), random.bytes(16));

type Measure = (file: string, durability: "sync" | "async") => Promise<Rate>;

interface Rate {
  readonly perSecond: number;
  /** Processor time of this process, which stays comparable on a busy machine. */
  readonly cpuMicros: number;
}

const measures: Record<string, Measure> = {
  "bare loop: insert the event": (file, durability) => bareLoop(file, durability, false),
  "bare loop: fence, insert, count": (file, durability) => bareLoop(file, durability, true),
  "store: runs.commit, hold": (file, durability) => commits(file, durability, "hold"),
  "store: runs.commit, hold, a task in turn": (file, durability) => commits(file, durability, "task"),
  "store: runs.commit, suspend and claim": (file, durability) => commits(file, durability, "suspend"),
  "store: start and hold, one event, end": (file, durability) => commits(file, durability, "end"),
};

for (const durability of ["sync", "async"] as const) {
  const results = new Map<string, Rate[]>();
  for (let i = 0; i < REPETITIONS; i++) {
    for (const [name, measure] of Object.entries(measures)) {
      const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"));
      const rate = await measure(path.join(folder, "bench.db"), durability);
      results.set(name, [...(results.get(name) ?? []), rate]);
      rmSync(folder, { recursive: true });
    }
  }
  for (const [name, rates] of results) {
    const { perSecond } = rates.sort((a, b) => a.perSecond - b.perSecond)[REPETITIONS >> 1] as Rate;
    const { cpuMicros } = rates.sort((a, b) => a.cpuMicros - b.cpuMicros)[REPETITIONS >> 1] as Rate;
    const rate = `${Math.round(perSecond / RUNS)} × ${RUNS}/s = ${Math.round(perSecond)}/s`;
    process.stdout.write(
      `${durability.padEnd(6)} ${name.padEnd(40)} ${rate}, ${cpuMicros.toFixed(1)} µs of CPU each\n`,
    );
  }
}

/** The same rows in the same schema, and nothing else. */
async function bareLoop(file: string, durability: "sync" | "async", fenced: boolean): Promise<Rate> {
  const { store } = await openStore(`file:${file}`, { ...systemPorts, log, durability });
  const held = await startHeld(store, newId(), RUNS);
  await store.close();
  const sql = new Connection(await openDatabase(file));
  sql.configure(durability);
  const ids = held.map((runId) => Buffer.from(runId.replaceAll("-", ""), "hex"));
  const elapsed = stopwatch();
  for (let round = 1; round <= ROUNDS; round++) {
    sql.run("begin immediate");
    ids.forEach((id, i) => {
      if (fenced) sql.get("select run_key, epoch, commit_no, held_by from holdfast_runs where run_id = ?", id);
      sql.run(
        "insert into holdfast_events (run_key, seq, type, at, op, meta, payload) values (?, ?, ?, ?, ?, ?, ?)",
        ...[i + 1, round, 9, 1_780_000_000_000 + round, "charge", null, payload],
      );
      if (fenced)
        sql.run(
          "update holdfast_runs set commit_no = ?, event_count = ?, consumed = ? where run_key = ?",
          ...[round, round, 0, i + 1],
        );
    });
    sql.run("commit");
  }
  const rate = elapsed();
  sql.close();
  return rate;
}

type Kind = "hold" | "task" | "suspend" | "end";

async function commits(file: string, durability: "sync" | "async", kind: Kind): Promise<Rate> {
  const { store } = await openStore(`file:${file}`, { ...systemPorts, log, durability });
  const workerId = newId();
  let held = await startHeld(store, workerId, RUNS);
  const elapsed = stopwatch();
  for (let round = 0; round < ROUNDS; round++) {
    const alone = kind === "end";
    const epoch = kind === "suspend" ? round + 1 : 1;
    const commit = alone ? 0 : round;
    const at = clock.now();
    const changes = kind === "task" ? taskIn(round, workerId) : null;
    const batch = held.map((runId): RunCommit => {
      const events: HistoryEvent[] = [{ seq: commit + 1, type: "step_completed", op: "charge", at, payload }];
      return {
        namespace: "default",
        runId,
        workerId,
        epoch,
        commit,
        events,
        eventCount: commit + 1,
        consumed: 0,
        attributes: null,
        clearDeadline: false,
        transition: transitionOf(kind, at),
        ...changes,
      };
    });
    const { outcomes } = await store.runs.commit({ commits: batch });
    if (outcomes.some(({ outcome }) => outcome !== "written")) throw new Error("a commit was lost");
    if (kind === "suspend") await claimAll(store, workerId);
    if (alone) held = await startHeld(store, workerId, RUNS);
  }
  const rate = elapsed();
  await store.close();
  return rate;
}

function stopwatch(): () => Rate {
  const began = performance.now();
  const cpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    const count = RUNS * ROUNDS;
    return { perSecond: (count * 1000) / (performance.now() - began), cpuMicros: (user + system) / count };
  };
}

/** A commit schedules a task that its worker holds, the next one has its result. */
function taskIn(round: number, workerId: string): Partial<RunCommit> {
  if (round % 2 === 1) return { settled: [round] };
  const seq = round + 1;
  const task: NewTask = {
    ...{ seq, inputSeq: seq, op: "mail", name: "mail", queue: "mail", requires: [], priority: 0, external: false },
    ...{ failOnCrash: false, secret: "0123456789abcdef0123456789abcdef", holdBy: { workerId, claimId: workerId } },
    ...{ timeoutMs: 30_000, startTimeoutMs: null, totalTimeoutMs: null, heartbeatMs: null },
  };
  return { tasks: [task] };
}

function transitionOf(kind: Kind, at: number): RunCommit["transition"] {
  if (kind === "hold" || kind === "task") return { type: "hold", status: "running" };
  if (kind === "suspend") return { type: "suspend", status: "sleeping", availableAt: at, waitingFor: ["nap"] };
  return { type: "end", status: "completed", output: payload, error: null, unlessBehind: false, compensation: null };
}

async function claimAll(store: Store, workerId: string): Promise<void> {
  const { runs } = await store.runs.claim({
    workerId,
    claimId: newId(),
    again: false,
    namespace: "default",
    queues: ["default"],
    handlers: [{ workflow: "order", version: "1" }],
    limit: RUNS,
    solo: false,
  });
  if (runs.length !== RUNS) throw new Error(`claimed ${runs.length}`);
}

async function startHeld(store: Store, workerId: string, count: number): Promise<string[]> {
  const workers = { queues: ["default"], workflows: ["order"], labels: {}, leaseMs: 60_000 };
  await store.workers.register({ workerId, namespace: "default", name: "bench", ...workers });
  const fixed = {
    namespace: "default",
    workflow: "order",
    version: "1",
    queue: "default",
    priority: 0,
    attributes: {},
  };
  const { outcomes } = await store.runs.start({
    starts: Array.from({ length: count }, () => {
      const runId = newId();
      const run = { ...fixed, runId, id: runId, seed: runId, input: payload };
      return { run, ifRunning: "fail", ifClosed: "fail", hold: true, pick: null } as const;
    }),
    holdBy: { workerId, claimId: newId() },
    replaceError: { name: "Error", message: "replaced", kind: "Unknown" },
  });
  return outcomes.flatMap(({ run }) => (run ? [run.runId] : []));
}
