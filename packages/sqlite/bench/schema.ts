// Compares two keys for the events table: a key of its own with an index on (run, seq), or clustered on (run, seq).
// 500 live runs, one event each per transaction, histories of up to 200 events.
// Run it with: npx tsx --conditions=holdfast-source packages/sqlite/bench/schema.ts
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Connection } from "../src/database/connection.ts";
import { openDatabase } from "../src/database/driver.ts";

const RUNS = 500;
const ROUNDS = 200;
const REPETITIONS = 3;
const COLUMNS = "seq integer not null, type integer, at integer, op text, meta text, payload blob";
const schemas: Record<string, string> = {
  "appended, indexed": `create table e (k integer primary key, run integer not null, ${COLUMNS}) strict;
    create unique index e_seq on e (run, seq)`,
  clustered: `create table e (run integer not null, ${COLUMNS}, primary key (run, seq)) strict, without rowid`,
};

for (const payloadBytes of [30, 200, 1_000]) {
  const results = new Map<string, { perSecond: number; mib: number }[]>();
  for (let i = 0; i < REPETITIONS; i++) {
    for (const [name, schema] of Object.entries(schemas))
      results.set(name, [...(results.get(name) ?? []), await measure(schema, payloadBytes)]);
  }
  for (const [name, measured] of results) {
    const { perSecond, mib } = measured.sort((a, b) => a.perSecond - b.perSecond)[
      REPETITIONS >> 1
    ] as (typeof measured)[0];
    const rate = `${Math.round(perSecond)} events/s`.padStart(18);
    process.stdout.write(`${payloadBytes} bytes, ${name.padEnd(18)} ${rate}, file of ${mib.toFixed(1)} MiB\n`);
  }
}

async function measure(schema: string, payloadBytes: number): Promise<{ perSecond: number; mib: number }> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"));
  const sql = new Connection(await openDatabase(path.join(folder, "bench.db")));
  sql.configure("sync");
  sql.script(schema);
  const payload = new Uint8Array(payloadBytes).fill(7);
  const began = performance.now();
  for (let seq = 1; seq <= ROUNDS; seq++) {
    sql.run("begin immediate");
    for (let run = 1; run <= RUNS; run++)
      sql.run(
        "insert into e (run, seq, type, at, op, meta, payload) values (?, ?, ?, ?, ?, ?, ?)",
        ...[run, seq, 9, 1_780_000_000_000 + seq, "charge", null, payload],
      );
    sql.run("commit");
  }
  const seconds = (performance.now() - began) / 1000;
  const pages = sql.get<{ page_count: number }>("pragma page_count")?.page_count ?? 0;
  sql.close();
  rmSync(folder, { recursive: true });
  return { perSecond: (RUNS * ROUNDS) / seconds, mib: (pages * 4096) / 2 ** 20 };
}
