/** Where torture takes place: a separate folder or schema, which is removed afterwards. Nothing else is touched. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isPostgres, type Place } from "./torture-client.ts";

export interface Stage {
  readonly place: Place;
  /** For the effects. */
  readonly folder: string;
  /** Ends one of torture's connections from the server's side; false if there is no connection or no server. */
  terminateConnection(dice: number): Promise<boolean>;
  remove(): Promise<void>;
}

let count = 0;

export async function openStage(url: string): Promise<Stage> {
  return isPostgres(url) ? openPostgresStage(url) : openFileStage(url);
}

/** For `file:app.db`, makes a separate folder beside it. */
async function openFileStage(url: string): Promise<Stage> {
  const rest = url.replace(/^(?:file|sqlite):/i, "");
  const file = rest.startsWith("//") ? fileURLToPath(`file:${rest}`) : path.resolve(rest);
  const folder = mkdtempSync(path.join(path.dirname(file), "holdfast-torture-"));
  return {
    place: { url: `file:${path.join(folder, "torture.db")}` },
    folder,
    terminateConnection: async () => false,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function openPostgresStage(url: string): Promise<Stage> {
  count += 1;
  const name = `holdfast_torture_${process.pid}_${count}`;
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-torture-"));
  const own = new URL(url);
  own.searchParams.set("application_name", name);
  own.searchParams.delete("schema");
  return {
    place: { url: own.href, schema: name },
    folder,
    // Only torture's own: the application name tells them from other connections to the same database.
    terminateConnection: async (dice) => {
      const found = await query(url, "select pid from pg_stat_activity where application_name = $1 order by pid", [
        name,
      ]);
      const chosen = found[Math.floor(dice * found.length)];
      if (!chosen) return false;
      const [row] = await query(url, "select pg_terminate_backend($1) as done", [chosen.pid]);
      return row?.done === true;
    },
    remove: async () => {
      rmSync(folder, { recursive: true, force: true });
      await query(url, `set client_min_messages = warning; drop schema if exists "${name}" cascade`);
    },
  };
}

/** One statement on a separate connection, with another application name than torture's. */
export async function query(url: string, text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  const { default: pg } = await import("pg");
  const address = new URL(url);
  // The driver does not know Holdfast's own parameters.
  for (const name of ["schema", "notify", "pooler", "connections"]) address.searchParams.delete(name);
  const client = new pg.Client({ connectionString: address.href });
  client.on("error", () => {});
  await client.connect();
  try {
    const result = values ? await client.query(text, values) : await client.query(text);
    return (result.rows ?? []) as Record<string, unknown>[];
  } finally {
    await client.end().catch(() => {});
  }
}
