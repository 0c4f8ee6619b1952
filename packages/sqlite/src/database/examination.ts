/** Checks a file when it is opened, so that a problem shows at once and not at the first write. */

import { damaged } from "../errors.ts";
import type { Connection } from "./connection.ts";

/** A check takes about 2 ms per MiB and blocks the process, so larger files get only a quick look. */
const CHECKED_BYTES_MAX = 32 * 1024 * 1024;

/** SQLite opens a read-only file without an error and even begins a transaction on it; only a write is refused. */
export function requireWritable(sql: Connection): void {
  sql.script("begin immediate");
  try {
    sql.script("delete from holdfast_hints where false");
  } finally {
    sql.rollback();
  }
}

/** Throws if Holdfast's tables or their indexes are damaged. The application's tables are not checked. */
export function requireSound(sql: Connection, file: string): void {
  const tables = sql.all<{ name: string }>(
    "select name from sqlite_schema where type = 'table' and name like 'holdfast\\_%' escape '\\' order by name",
  );
  const { page_count: pages = 0 } = sql.get<{ page_count: number }>("pragma page_count") ?? {};
  const { page_size: pageBytes = 0 } = sql.get<{ page_size: number }>("pragma page_size") ?? {};
  for (const { name } of tables) {
    if (pages * pageBytes > CHECKED_BYTES_MAX) sql.script(`select * from "${name}" limit 1`);
    else {
      const [first] = sql.all<{ quick_check: string }>(`pragma quick_check("${name}")`);
      if (first && first.quick_check !== "ok") throw damaged(file, first.quick_check);
    }
  }
}
