// DBOS Transact. Workflows are started in the process that runs them, its default and its fastest way.
import { openRuns } from "./open-runs.mjs";

const POOL = 20;
/** Of queues and of results, both one second by default. */
const POLL_MS = 20;
const OPEN =
  "select /* bench */ count(*) as n from dbos.workflow_status where status in ('PENDING', 'ENQUEUED', 'DELAYED')";

export default {
  name: "dbos",
  title: "DBOS Transact",
  packages: ["@dbos-inc/dbos-sdk"],
  kind: "engine",
  store: "postgres",
  settings: `system database pool ${POOL} (default 10), started in process without a queue, LISTEN/NOTIFY on; tasks: workflows on a queue; that and results polled every ${POLL_MS} ms (default 1 s); events in another process every ${POLL_MS} ms, or ${10 * POLL_MS} while more than ten calls wait`,
  workloads: [
    "ten",
    "short",
    "parallel",
    "latency",
    "long",
    "recover",
    "signals",
    "sleepers",
    "idle",
    "tasks",
    "children",
    "updates",
    "published",
  ],
  async open({ url, hooks, workload, clientOnly }) {
    const { DBOS, DBOSClient } = await import("@dbos-inc/dbos-sdk");
    if (clientOnly) {
      const client = await DBOSClient.create({ systemDatabaseUrl: url, systemDatabasePoolSize: POOL });
      const { update, published } = conversation(client, true);
      return { update, published, close: () => client.destroy() };
    }
    const identity = { name: "bench", executorID: "bench", applicationVersion: "1" };
    const quiet = { logLevel: "error", enableOTLP: false };
    DBOS.setConfig({ ...identity, ...quiet, systemDatabaseUrl: url, systemDatabasePoolSize: POOL });
    const workflows = register(DBOS, hooks);
    await DBOS.launch();
    if (workload === "tasks") await DBOS.registerQueue("work", { minPollingIntervalMs: POLL_MS });
    const open = await openRuns(url, OPEN);
    const { update, published } = conversation(DBOS);
    return {
      async start(kind, id, arg) {
        const handle = await DBOS.startWorkflow(workflows[kind], { workflowID: id })(id, arg);
        return { result: () => handle.getResult() };
      },
      signal: (id) => DBOS.send(id, { ok: true }, "go"),
      update,
      published,
      pending: open.count,
      async close() {
        await open.end();
        await DBOS.shutdown();
      },
    };
  },
};

/**
 * A message that names the event in which the caller looks for the answer; and an event that says what is so. A client in
 * another process is not notified but polls: often while few calls wait, so that they are not late, and seldom while many do.
 */
function conversation(dbos, polls = false) {
  let calls = 0;
  let waiting = 0;
  const event = async (id, key) => {
    waiting += 1;
    const often = polls ? { pollingIntervalMs: waiting > 10 ? 10 * POLL_MS : POLL_MS } : {};
    const value = await dbos.getEvent(id, key, { timeoutSeconds: 60, ...often });
    waiting -= 1;
    return value;
  };
  return {
    async update(id, n) {
      const reply = `reply-${process.pid}-${calls++}`;
      await dbos.send(id, { n, reply }, "add");
      return event(id, reply);
    },
    published: (id) => event(id, "total"),
  };
}

function register(DBOS, hooks) {
  const step = (id, i) => DBOS.runStep(async () => hooks.step(id, i), { name: `s${i}` });
  const work = DBOS.registerWorkflow(async (id, i) => hooks.step(id, i), { name: "work" });
  const bodies = {
    async family(id, n) {
      const one = async (i) => (await DBOS.startWorkflow(work)(id, i)).getResult({ pollingIntervalMs: POLL_MS });
      await Promise.all(Array.from({ length: n }, (_, i) => one(i)));
      hooks.finished(id);
      return n;
    },
    async talk(id, n) {
      for (let i = 1; i <= n; i++) await step(id, i);
      let total = 0;
      await DBOS.setEvent("total", total);
      hooks.waiting(id);
      for (;;) {
        const message = await DBOS.recv("add", { timeoutSeconds: 600 });
        if (message === null) return total;
        total += message.n;
        await DBOS.setEvent(message.reply, total);
      }
    },
    async tasks(id, n) {
      for (let i = 1; i <= n; i++) {
        const handle = await DBOS.startWorkflow(work, { queueName: "work" })(id, i);
        await handle.getResult({ pollingIntervalMs: POLL_MS });
      }
      hooks.finished(id);
      return n;
    },
    async seq(id, n) {
      for (let i = 1; i <= n; i++) await step(id, i);
      hooks.finished(id);
      return n;
    },
    async fan(id, n) {
      await Promise.all(Array.from({ length: n }, (_, i) => step(id, i)));
      hooks.finished(id);
      return n;
    },
    async sleep(id, ms) {
      hooks.asleep(id);
      await DBOS.sleepms(ms);
      hooks.finished(id);
    },
    async wait(id) {
      hooks.waiting(id);
      const message = await DBOS.recv("go", { timeoutSeconds: 300 });
      hooks.finished(id);
      return message;
    },
  };
  return Object.fromEntries(
    Object.entries(bodies).map(([name, body]) => [name, DBOS.registerWorkflow(body, { name })]),
  );
}
