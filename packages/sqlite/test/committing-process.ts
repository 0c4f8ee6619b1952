// A separate process that starts runs and commits events until it has done its share or is killed. For every commit that
// the store has acknowledged, it writes a line: the run and its newest event.
import { writeSync } from "node:fs";
import process from "node:process";
import { type HistoryEvent, type RunCommit, systemPorts, uuidV7 } from "holdfast/adapter";
import { openStore } from "../src/index.ts";
import { silent } from "./sqlite-under-test.ts";

const [file = "", runs = "20", rounds = "50"] = process.argv.slice(2);
const { clock, random } = systemPorts;
const newId = (): string => uuidV7(clock.now(), random.bytes(16));
const { store } = await openStore(`file:${file}`, { ...systemPorts, log: silent });

const workerId = newId();
const worker = { namespace: "default", name: "w", queues: ["q"], workflows: ["w"], labels: {}, leaseMs: 60_000 };
await store.workers.register({ workerId, ...worker });
const lane = { namespace: "default", workflow: "w", version: "1", queue: "q", priority: 0 };
const started = await store.runs.start({
  starts: Array.from({ length: Number(runs) }, () => {
    const runId = newId();
    const run = { ...lane, runId, id: runId, seed: "s", attributes: {}, input: new Uint8Array(100) };
    return { run, ifRunning: "fail", ifClosed: "fail", hold: true, pick: null } as const;
  }),
  holdBy: { workerId, claimId: newId() },
  replaceError: { name: "Error", message: "replaced", kind: "Unknown" },
});
const runIds = started.outcomes.flatMap(({ run }) => (run ? [run.runId] : []));

for (let round = 0; round < Number(rounds); round++) {
  const commits = runIds.map((runId): RunCommit => {
    const payload = new Uint8Array(50).fill(round);
    const events: HistoryEvent[] = [{ seq: round + 1, type: "step_completed", op: `s${round}`, at: 1, payload }];
    const transition = { type: "hold", status: "running" } as const;
    return {
      namespace: "default",
      runId,
      workerId,
      epoch: 1,
      commit: round,
      events,
      eventCount: round + 1,
      consumed: 0,
      attributes: null,
      clearDeadline: false,
      transition,
    };
  });
  const { outcomes } = await store.runs.commit({ commits });
  const acknowledged = runIds.filter((_, i) => outcomes[i]?.outcome === "written");
  writeSync(1, acknowledged.map((runId) => `${runId} ${round + 1}\n`).join(""));
}
await store.close();
writeSync(1, "done\n");
