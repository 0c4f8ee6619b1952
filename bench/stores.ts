import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startServers } from "../scripts/test-servers.mjs";

export type StoreName = "memory" | "sqlite" | "postgres";

/** A store that nobody else uses, and how to get rid of it. */
export interface BenchStore {
  readonly name: StoreName;
  readonly url: string;
  remove(): Promise<void>;
}

let servers: Promise<Awaited<ReturnType<typeof startServers>>> | undefined;
let made = 0;

/** Durability as a user has it: SQLite with full synchronisation, PostgreSQL with fsync on. */
export async function freshStore(name: StoreName): Promise<BenchStore> {
  made += 1;
  if (name === "memory") return { name, url: "memory:", remove: async () => {} };
  if (name === "sqlite") {
    const folder = mkdtempSync(path.join(tmpdir(), "holdfast-bench-"));
    const remove = async (): Promise<void> => rmSync(folder, { recursive: true, force: true });
    return { name, url: `file:${path.join(folder, "bench.db")}`, remove };
  }
  if (servers === undefined)
    servers = startServers({ fsync: true, settings: { shared_preload_libraries: "pg_stat_statements" } });
  const { postgresUrl } = await servers;
  const url = await createDatabase(postgresUrl, `bench_${process.pid}_${made}`);
  return { name, url, remove: () => dropDatabase(postgresUrl, url) };
}

export async function stopServers(): Promise<void> {
  if (servers !== undefined) (await servers).stop();
}

async function createDatabase(serverUrl: string, name: string): Promise<string> {
  await adminQuery(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function dropDatabase(serverUrl: string, url: string): Promise<void> {
  await adminQuery(serverUrl, `drop database if exists ${new URL(url).pathname.slice(1)} with (force)`);
}

/** One statement on a connection of its own, for figures that the server keeps. */
export async function adminQuery(url: string, text: string): Promise<Record<string, unknown>[]> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
