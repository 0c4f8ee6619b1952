import { IN_PLAIN_SIGHT, liveInSecret, SECRET } from "@holdfast/conformance";
import { connect, silentLogger } from "holdfast";
import { compressed, encrypted, json, messagePack } from "holdfast/codecs";
import { expect, test } from "vitest";
import { TestDatabase } from "./test-database.ts";

const keys = { k1: new Uint8Array(32).fill(1) };

test.each([
  ["nothing that encrypted() wrote can be read", false, encrypted({ current: "k1", keys })],
  ["nor behind compressed(messagePack())", false, encrypted({ current: "k1", keys, inner: compressed(messagePack()) })],
  ["everything that json() wrote can be read", true, json()],
] as const)("in the rows of every table, %s", async (_title, readable, codec) => {
  const database = await TestDatabase.create();
  const open = (namespace = "default") => connect(database.url(), { codec, namespace, logger: silentLogger });
  const inspect = async (): Promise<void> => {
    const rows = await textOfEveryRow(database);
    expect(holds(rows, SECRET)).toBe(readable);
    for (const text of IN_PLAIN_SIGHT) expect(holds(rows, text)).toBe(true);
  };
  const clients = { worker: await open(), asker: await open(), theirs: await open("theirs") };
  await liveInSecret(clients, inspect);
  for (const client of Object.values(clients)) await client.close();
  await database.drop();
});

/** Binary columns are in hexadecimal digits. */
async function textOfEveryRow({ admin, schema }: TestDatabase): Promise<string> {
  const tables = await admin.query("select tablename as name from pg_tables where schemaname = $1", [schema]);
  const texts: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await admin.query(`select t::text as row from "${schema}"."${name}" t`);
    texts.push(...rows.map(({ row }) => row as string));
  }
  return texts.join("\n");
}

function holds(rows: string, text: string): boolean {
  return rows.includes(text) || rows.includes(Buffer.from(text).toString("hex"));
}
