// pg-boss: a plain queue, as a reference. One job is a run of one step.
import { openRuns } from "./open-runs.mjs";

const POOL = 20;
const BATCH = 100;
const WORKERS = 2;

export default {
  name: "pg-boss",
  title: "pg-boss (plain jobs)",
  packages: ["pg-boss"],
  kind: "queue",
  store: "postgres",
  settings: `pool ${POOL} (default 10), ${WORKERS} workers with batches of ${BATCH} and bursts, LISTEN/NOTIFY, polls of 0.5 s (its minimum); latency: batches of 1; tasks: a caller in memory sends one job after the other and waits for each`,
  workloads: ["short", "bulk", "latency", "idle", "tasks"],
  sizes: { latency: { steps: 1 } },
  async open({ url, hooks, workload }) {
    const { PgBoss } = await import("pg-boss");
    const quiet = { supervise: false, schedule: false };
    const boss = new PgBoss({ connectionString: url, max: POOL, useListenNotify: true, ...quiet });
    boss.on("error", (error) => process.stderr.write(`${error.stack}\n`));
    await boss.start();
    await boss.createQueue("seq", { notify: true });
    const done = new Map();
    const many = workload === "latency" ? [1, 1] : [BATCH, WORKERS];
    const polls = { pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
    await boss.work("seq", { batchSize: many[0], localConcurrency: many[1], ...polls }, async (jobs) => {
      const results = [];
      for (const { data } of jobs) {
        results.push(await hooks.step(data.id, data.i ?? 1));
        if (data.i === undefined) hooks.finished(data.id);
        done.get(data.i === undefined ? data.id : `${data.id}/${data.i}`)?.();
      }
      return results;
    });
    const open = await openRuns(url, "select /* bench */ count(*) as n from pgboss.job where state < 'completed'");
    let callers = 0;
    /** The handler runs in this process, so the caller hears of its end at once; the job's row says so later. */
    const call = async (id, n) => {
      callers += 1;
      for (let i = 1; i <= n; i++) {
        const handled = new Promise((resolve) => done.set(`${id}/${i}`, resolve));
        await boss.send("seq", { id, i });
        await handled;
        done.delete(`${id}/${i}`);
      }
      callers -= 1;
      hooks.finished(id);
    };
    return {
      async start(kind, id, arg) {
        if (kind === "tasks") {
          const called = call(id, arg);
          return { result: () => called };
        }
        const handled = workload === "latency" ? new Promise((resolve) => done.set(id, resolve)) : undefined;
        await boss.send("seq", { id });
        // It has no call for a result: the job is handled first, then its row says so.
        const result = async () => {
          await handled;
          while ((await open.count()) > 0);
        };
        return { result };
      },
      startMany: (_kind, ids) =>
        boss.insert(
          "seq",
          ids.map((id) => ({ data: { id } })),
        ),
      pending: async () => callers + (await open.count()),
      async close() {
        await open.end();
        await boss.stop({ graceful: false });
      },
    };
  },
};
