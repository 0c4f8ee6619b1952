// graphile-worker: a plain queue, as a reference. One job is a run of one step.
import { EventEmitter } from "node:events";
import { openRuns } from "./open-runs.mjs";

const CONCURRENCY = 24;
const BATCHED = {
  localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

export default {
  name: "graphile-worker",
  title: "graphile-worker (plain jobs)",
  packages: ["graphile-worker"],
  kind: "queue",
  store: "postgres",
  settings: `${CONCURRENCY} jobs at once, pool ${CONCURRENCY + 1}, local queue of 500, completion in batches (the project's own settings for throughput); latency: without local queue and batches`,
  workloads: ["short", "bulk", "latency", "idle"],
  sizes: { latency: { steps: 1 } },
  async open({ url, hooks, workload }) {
    const { Logger, makeWorkerUtils, run } = await import("graphile-worker");
    const logger = new Logger(() => () => {});
    const utils = await makeWorkerUtils({ connectionString: url, logger, maxPoolSize: 20 });
    await utils.migrate();
    const done = new Map();
    const events = new EventEmitter();
    events.on("job:complete", ({ job }) => done.get(job.payload.id)?.());
    const pool = { concurrentJobs: CONCURRENCY, maxPoolSize: CONCURRENCY + 1 };
    const tuned = workload === "short" || workload === "bulk" ? BATCHED : {};
    const runner = await run({
      preset: { worker: { connectionString: url, pollInterval: 500, logger, events, ...pool, ...tuned } },
      taskList: {
        seq: async ({ id }) => {
          await hooks.step(id, 1);
          hooks.finished(id);
        },
      },
    });
    const open = await openRuns(url, "select /* bench */ count(*) as n from graphile_worker._private_jobs");
    return {
      async start(_kind, id) {
        const completed = workload === "latency" ? new Promise((resolve) => done.set(id, resolve)) : undefined;
        await utils.addJob("seq", { id });
        return { result: () => completed };
      },
      startMany: (_kind, ids) => utils.addJobs(ids.map((id) => ({ identifier: "seq", payload: { id } }))),
      pending: open.count,
      async close() {
        await open.end();
        await runner.stop();
        await utils.release();
      },
    };
  },
};
