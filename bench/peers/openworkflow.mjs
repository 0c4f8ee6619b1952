import { openRuns } from "./open-runs.mjs";
import { CONCURRENCY, FIXED, openOn, SIZES, WORKLOADS } from "./openworkflow-bodies.mjs";

const POOL = 20;
const ENDED = "('completed', 'succeeded', 'failed', 'canceled')";
const OPEN = `select /* bench */ count(*) as n from openworkflow.workflow_runs where status not in ${ENDED}`;
const LEASE =
  "select extract(epoch from max(available_at) - clock_timestamp()) * 1000 from openworkflow.workflow_runs where status = 'running'";

export default {
  name: "openworkflow",
  title: "OpenWorkflow, PostgreSQL",
  packages: ["openworkflow", "postgres"],
  kind: "engine",
  store: "postgres",
  settings: `pool ${POOL} (default 10), worker concurrency ${CONCURRENCY} as in its own benchmark; ${FIXED}`,
  workloads: [...WORKLOADS, "idle"],
  sizes: SIZES,
  async open({ url, hooks, again }) {
    const { BackendPostgres, newPostgres } = await import("openworkflow/postgres");
    const migrated = await BackendPostgres.connect(url, { runMigrations: !again });
    await migrated.stop();
    const backend = BackendPostgres.fromPool(await poolFor(url, newPostgres));
    const open = await openRuns(url, OPEN);
    return openOn(backend, hooks, { ...open, leaseLeftMs: () => open.number(LEASE) });
  },
};

/** Makes a pool with its own function, or by hand if the package does not export it. */
async function poolFor(url, newPostgres) {
  const options = { max: POOL, onnotice() {} };
  if (newPostgres) return newPostgres(url, options);
  const { default: postgres } = await import("postgres");
  return postgres(url, { ...options, transform: { column: { from: postgres.toCamel } } });
}
