/** Claims behind a full limit, with two runs in line and with very many: copies of one of them, made by the database itself. */
import { readFileSync } from "node:fs";
import pg from "pg";
import { openDatabase } from "../packages/sqlite/src/database/driver.ts";
import { adminQuery } from "./lab/stores.ts";
import { BareLoop } from "./limits/bare-loop.ts";
import { quantile } from "./workloads/flow.ts";

const CLAIMS = 50;
const SQLITE_PAGE_BYTES = 4_096;
const QUEUE = { namespace: "default", queue: "default" } as const;

export async function lineOf(kind: "sqlite" | "postgres", url: string, count: number): Promise<string> {
  const loop = await BareLoop.open(kind, url);
  try {
    const first = { revision: null, next: loop.workerId };
    await loop.store.queues.setIfRevision({ ...QUEUE, limits: { concurrency: 1 }, ...first });
    await loop.start(3, false);
    await claims(loop, 1);
    const pages = async (): Promise<string> =>
      ` and reads ${kind === "postgres" ? await pagesOf(loop, url) : await pagesOnSqlite(url)} pages`;
    const few = `${(await claims(loop, CLAIMS)).toFixed(2)} ms${await pages()}`;
    const began = performance.now();
    await (kind === "postgres" ? copyOnPostgres(url, count) : copyOnSqlite(url, count));
    const filled = (performance.now() - began) / 1_000;
    await claims(loop, 5);
    const many = `${(await claims(loop, CLAIMS)).toFixed(2)} ms${await pages()}`;
    const [queue] = await loop.store.queues.list({ ...QUEUE, holdersMax: 0 });
    const { waiting, running } = queue?.runs ?? { waiting: 0, running: 0 };
    return `a claim behind a full limit takes ${few} with 2 in line, ${many} with ${waiting} (${running} in progress; ${filled.toFixed(0)} s to fill)`;
  } finally {
    await loop.close();
  }
}

/** Milliseconds of a claim that gets nothing, in the median. */
async function claims(loop: BareLoop, times: number): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    await loop.claim(10);
    took.push(performance.now() - began);
  }
  return quantile(took, 0.5);
}

/** Pages of tables and indexes that a claim reads, once its connection has made its plans. */
async function pagesOf(loop: BareLoop, url: string): Promise<number> {
  const claim = `select * from holdfast.claim_runs('${loop.workerId}', gen_random_uuid(), false, 'default', '{default}', '{seq}', '{1}', 10, false)`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (let i = 0; i < 3; i++) await client.query(claim);
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${claim}`);
    const [{ Plan: plan }] = rows[0]["QUERY PLAN"] as [{ readonly Plan: Readonly<Record<string, number>> }];
    return Number(plan["Shared Hit Blocks"]) + Number(plan["Shared Read Blocks"]);
  } finally {
    await client.end();
  }
}

/** Pages that a claim reads from the file on a connection that has read none but those of the schema and of workers, on Linux. */
async function pagesOnSqlite(url: string): Promise<number | string> {
  const loop = await BareLoop.open("sqlite", url);
  try {
    const before = bytesRead();
    await loop.claim(10);
    return Number.isNaN(before) ? "unknown" : Math.floor((bytesRead() - before) / SQLITE_PAGE_BYTES);
  } finally {
    await loop.close();
  }
}

function bytesRead(): number {
  try {
    return Number(/^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  } catch {
    return Number.NaN; // not on Linux
  }
}

async function copyOnPostgres(url: string, count: number): Promise<void> {
  await adminQuery(
    url,
    `do $$ declare v_of uuid; v_cols text; begin
       set local search_path = holdfast;
       select l.run_id into v_of from lines l limit 1;
       select string_agg(a.attname, ', ') into v_cols from pg_attribute a
        where a.attrelid = 'runs'::regclass and a.attnum > 0 and not a.attisdropped and a.attname not in ('run_id', 'run_no');
       create temp table copies on commit drop as select gen_random_uuid() as id from generate_series(1, ${count});
       execute format('insert into runs (run_id, %1$s) select c.id, %1$s from copies c cross join (select * from runs where run_id = %2$L) r', v_cols, v_of);
       insert into lines (limited_id, key, lane_id, at, run_no, run_id, seq)
         select l.limited_id, l.key, l.lane_id, l.at, l.run_no, c.id, 0 from copies c cross join (select * from lines where run_id = v_of) l;
     end $$`,
  );
  await adminQuery(url, "vacuum (analyze)");
}

async function copyOnSqlite(url: string, count: number): Promise<void> {
  const db = await openDatabase(new URL(url).pathname);
  const columns = (db.prepare("pragma table_info(holdfast_runs)").all() as { name: string }[]).map(({ name }) => name);
  const same = columns.filter((name) => name !== "run_id" && name !== "run_key").join(", ");
  db.exec(`
    begin;
    create temp table template as
      select * from holdfast_runs where run_id = (select run_id from holdfast_lines limit 1);
    create temp table line as select * from holdfast_lines limit 1;
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into holdfast_runs (run_id, ${same}) select randomblob(16), ${same} from n, template;
    insert into holdfast_lines (limited_id, key, lane_id, at, run_key, run_id, seq)
      select l.limited_id, l.key, l.lane_id, l.at, r.run_key, r.run_id, 0 from holdfast_runs r, line l
      where r.waiting_for is not null and r.run_id not in (select run_id from holdfast_lines);
    commit;`);
  db.close();
}
