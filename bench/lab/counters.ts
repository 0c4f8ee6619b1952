/** Exact figures: statements, commits and bytes, as the server and the kernel count them. */
import type { Figures } from "./engine.ts";
import { machineCpuSeconds, treeCpuSeconds, writtenBytes } from "./processes.ts";
import type { Stores } from "./stores.ts";

export interface Snapshot {
  readonly at: number;
  readonly machineCpu: number;
  readonly benchCpu: number;
  readonly serverCpu: number;
  /** Processor time of the server, which is not a child of the bench. */
  readonly outsideCpu: number;
  /** Bytes written by the measured process itself if the store is a library; a server's files are not included. */
  readonly written: number | undefined;
  readonly postgres: PostgresCounts | undefined;
}

export type Snapshots = ReadonlyMap<string, Snapshot>;

export interface PostgresCounts {
  readonly walBytes: number;
  /** Transactions that wrote: transaction ids that were assigned. */
  readonly commits: number;
  readonly statements: number | undefined;
  /** Pages that statements read. */
  readonly buffers: number | undefined;
}

export interface CounterParams {
  readonly stores: Stores;
  readonly database: string | undefined;
  readonly pids: readonly number[];
  /** The server that the engine starts itself. */
  readonly ownServerPid: number | undefined;
}

export async function snapshot({ stores, database, pids, ownServerPid }: CounterParams): Promise<Snapshot> {
  const { serverPid } = stores;
  const serverless = database === undefined && ownServerPid === undefined;
  const outsideCpu = serverPid === undefined ? 0 : treeCpuSeconds(serverPid);
  return {
    postgres: database === undefined ? undefined : await postgresCounts(stores, database),
    at: performance.now(),
    machineCpu: machineCpuSeconds(),
    benchCpu: treeCpuSeconds(process.pid),
    outsideCpu,
    serverCpu: ownServerPid === undefined ? outsideCpu : treeCpuSeconds(ownServerPid),
    written: serverless ? pids.reduce((sum, pid) => sum + writtenBytes(pid), 0) : undefined,
  };
}

async function postgresCounts(stores: Stores, database: string): Promise<PostgresCounts> {
  const { rows } = await stores.admin.query(
    `select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as wal,
            pg_snapshot_xmax(pg_current_snapshot())::text::float8 as commits`,
  );
  const counted = stores.countsStatements
    ? await stores.admin.query(
        `select coalesce(sum(calls), 0)::float8 as calls, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 as buffers
           from pg_stat_statements s join pg_database d on d.oid = s.dbid where toplevel and d.datname = $1
            and query not like '%/* bench */%'`,
        [database],
      )
    : undefined;
  return {
    walBytes: Number(rows[0]?.wal),
    commits: Number(rows[0]?.commits),
    statements: counted && Number(counted.rows[0]?.calls),
    buffers: counted && Number(counted.rows[0]?.buffers),
  };
}

/** The difference of two snapshots, per step or run (`units` of them). */
export function countsBetween(from: Snapshot, to: Snapshot, units: number): Figures {
  const figures: Figures = {};
  if (from.postgres && to.postgres) {
    figures["walBytesPerStep"] = (to.postgres.walBytes - from.postgres.walBytes) / units;
    figures["commitsPerStep"] = (to.postgres.commits - from.postgres.commits) / units;
    if (from.postgres.statements !== undefined && to.postgres.statements !== undefined)
      figures["statementsPerStep"] = (to.postgres.statements - from.postgres.statements) / units;
  }
  if (from.written !== undefined && to.written !== undefined) {
    figures["writtenBytesPerStep"] = (to.written - from.written) / units;
  }
  return figures;
}

/** What each of `units` cost between the marks `begin` and `finish` of a stage, as figures of that name: `commitsPerTaskTwo`. */
export function costsOf(snapshots: Snapshots, name: string, stage: string, units: number | undefined): Figures {
  const [from, to] = [snapshots.get(`begin${stage}`), snapshots.get(`finish${stage}`)];
  if (!from || !to || units === undefined) return {};
  const figures: Figures = {
    [`nodeMicrosPer${name}${stage}`]: ((to.benchCpu - from.benchCpu) * 1e6) / units,
    [`serverMicrosPer${name}${stage}`]: ((to.serverCpu - from.serverCpu) * 1e6) / units,
  };
  for (const [figure, value] of Object.entries(countsBetween(from, to, units)))
    figures[figure.replace("PerStep", `Per${name}${stage}`)] = value;
  return figures;
}

/** Cores used meanwhile by the server, and by processes outside the measurement. */
export function coresBetween(from: Snapshot, to: Snapshot): { serverCores: number; othersCores: number } {
  const seconds = Math.max(0.05, (to.at - from.at) / 1000);
  const own = to.benchCpu - from.benchCpu + (to.outsideCpu - from.outsideCpu);
  const others = to.machineCpu - from.machineCpu - own;
  return { serverCores: (to.serverCpu - from.serverCpu) / seconds, othersCores: Math.max(0, others) / seconds };
}
