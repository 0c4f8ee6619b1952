import path from "node:path";
import { CONCURRENCY, FIXED, openOn, SIZES, WORKLOADS } from "./openworkflow-bodies.mjs";

const ENDED = "('completed', 'succeeded', 'failed', 'canceled')";

export default {
  name: "openworkflow-sqlite",
  title: "OpenWorkflow, SQLite",
  packages: ["openworkflow"],
  kind: "engine",
  store: "sqlite",
  settings: `node:sqlite, WAL, synchronous FULL (its defaults), worker concurrency ${CONCURRENCY}; ${FIXED}`,
  workloads: WORKLOADS,
  sizes: SIZES,
  async open({ folder, hooks }) {
    const { BackendSqlite } = await import("openworkflow/sqlite");
    const { DatabaseSync } = await import("node:sqlite");
    const file = path.join(folder, "openworkflow.db");
    const backend = BackendSqlite.connect(file);
    const aside = new DatabaseSync(file);
    aside.exec("pragma busy_timeout = 5000");
    const count = aside.prepare(`select count(*) as n from workflow_runs where status not in ${ENDED}`);
    const lease = aside.prepare("select max(available_at) as at from workflow_runs where status = 'running'");
    return openOn(backend, hooks, {
      count: async () => Number(count.get().n),
      leaseLeftMs: async () => Date.parse(lease.get().at) - Date.now(),
      end: async () => aside.close(),
    });
  },
};
