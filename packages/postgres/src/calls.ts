/** The statements of the store, one per port method: a name, under which the server keeps its plan, and its text. */
import type { Statement } from "./pool.ts";
import { quoteName } from "./settings.ts";

export type Calls = ReturnType<typeof callsOf>;

export function callsOf(schema: string) {
  const at = quoteName(schema);
  const call = (name: string, count: number, columns = "*"): Statement => {
    const parameters = Array.from({ length: count }, (_, i) => `$${i + 1}`).join(",");
    return { name, text: `select ${columns} from ${at}.${name}(${parameters}) c` };
  };
  const read = (name: string, text: string): Statement => ({ name, text, reads: true });
  return {
    commit: call("commit_runs", 47),
    claim: call("claim_runs", 9),
    start: call("start_runs", 22),
    deliver: call("deliver_messages", 9),
    readInbox: { ...call("read_inbox", 3), reads: true },
    readHistories: { ...call("read_histories", 4), reads: true },
    terminate: call("terminate_runs", 5),
    resume: call("resume_run", 4),
    holdParked: call("hold_parked", 8),
    reopen: call("reopen_run", 9),
    purge: call("purge_runs", 4),
    registerVersions: call("register_versions", 4, "i, (c.was).*"),
    updateVersion: call("update_version", 6, "c as known"),
    registerWorker: call("register_worker", 9),
    heartbeat: call("heartbeat_worker", 4),
    release: call("release_runs", 5),
    stop: call("stop_worker", 3),
    sweep: call("sweep_workers", 8),
    listVersions: read(
      "list_versions",
      `select * from ${at}.versions where namespace = $1 and ($2::text is null or workflow = $2)
        order by workflow collate "C", registered_at, version collate "C"`,
    ),
    readHeld: read(
      "read_held",
      `select r.run_id, r.epoch from ${at}.workers w join ${at}.runs r on r.held_by = w.worker_id
        where w.namespace = $1 and w.worker_id = $2 order by r.run_id`,
    ),
    listWorkers: read(
      "list_workers",
      `select w.*, (select count(*)::int from ${at}.runs r where r.held_by = w.worker_id) as active_runs
         from ${at}.workers w where w.namespace = $1 order by w.started_at, w.worker_id`,
    ),
    readClock: read("read_clock", `select ${at}.now_ms() as now`),
    readRuns: read(
      "read_runs",
      `select v.*, k.i::int as i
         from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as k(run_id, namespace, id, i)
        cross join lateral (
          select k.run_id where k.run_id is not null
          union all
          (select s.run_id from ${at}.run_starts s where k.run_id is null and s.namespace = k.namespace and s.id = k.id
            order by s.created_at desc limit 1)) t
         join ${at}.run_rows v on v.run_id = t.run_id and v.namespace = k.namespace`,
    ),
  };
}
