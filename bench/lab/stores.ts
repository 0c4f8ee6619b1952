import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { startServers } from "../../scripts/test-servers.mjs";
import { parentOf } from "./processes.ts";

/** Durable, and with enough memory: the same for every engine. */
export const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  shared_preload_libraries: "pg_stat_statements",
  shared_buffers: "1GB",
  checkpoint_timeout: "15min",
  work_mem: "16MB",
  random_page_cost: "1.1",
};

/** The store of one measurement, never used before. */
export interface FreshStore {
  readonly url: string;
  readonly folder: string;
  remove(): Promise<void>;
}

/** The PostgreSQL server of the bench: HOLDFAST_TEST_POSTGRES_URL, or a throw-away server with fsync on. */
export class Stores {
  readonly #servers: Awaited<ReturnType<typeof startServers>>;
  readonly admin: pg.Pool;
  readonly serverPid: number | undefined;
  readonly postgresVersion: string;
  readonly countsStatements: boolean;
  readonly #folders = new Set<string>();
  #made = 0;

  private constructor(
    servers: Awaited<ReturnType<typeof startServers>>,
    admin: pg.Pool,
    server: { version: string; pid: number | undefined; countsStatements: boolean },
  ) {
    this.#servers = servers;
    this.admin = admin;
    this.postgresVersion = server.version;
    this.serverPid = server.pid;
    this.countsStatements = server.countsStatements;
  }

  static async open(): Promise<Stores> {
    const servers = await startServers({ fsync: true, settings: SERVER_SETTINGS });
    const admin = new pg.Pool({ connectionString: servers.postgresUrl, max: 3 });
    // If a connection ends while idle, the next query opens another one, or reports what is wrong.
    admin.on("error", () => {});
    const { rows } = await admin.query("select pg_backend_pid() as pid, current_setting('server_version') as version");
    const countsStatements = await admin
      .query("create extension if not exists pg_stat_statements")
      .then(() => admin.query("select count(*) from pg_stat_statements"))
      .then(
        () => true,
        () => false,
      );
    const pid = parentOf(Number(rows[0]?.pid));
    return new Stores(servers, admin, { version: String(rows[0]?.version), pid, countsStatements });
  }

  async fresh(kind: "postgres" | "sqlite" | "own"): Promise<FreshStore> {
    this.#made += 1;
    const folder = mkdtempSync(path.join(tmpdir(), "holdfast-bench-"));
    this.#folders.add(folder);
    const removeFolder = async (): Promise<void> => this.#removeFolder(folder);
    if (kind !== "postgres") return { url: `file:${path.join(folder, "bench.db")}`, folder, remove: removeFolder };
    const name = `bench_${process.pid}_${this.#made}`;
    // Without a checkpoint, pages touched by the last measurement would be written to the WAL in full during this one.
    await this.admin.query("checkpoint");
    await this.admin.query(`create database ${name}`);
    const url = new URL(this.#servers.postgresUrl);
    url.pathname = `/${name}`;
    const remove = async (): Promise<void> => {
      await this.admin.query(`drop database if exists ${name} with (force)`);
      await removeFolder();
    };
    return { url: url.href, folder, remove };
  }

  async close(): Promise<void> {
    await this.admin.end();
    this.stop();
  }

  stop(): void {
    this.#servers.stop();
    for (const folder of this.#folders) this.#removeFolder(folder);
  }

  #removeFolder(folder: string): void {
    rmSync(folder, { recursive: true, force: true });
    this.#folders.delete(folder);
  }
}

/** One statement on a separate connection. */
export async function adminQuery(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
