import type { NewRun } from "holdfast/adapter";
import type { Connection } from "../database/connection.ts";
import { blob, type SqlValue } from "../database/driver.ts";

const ROW = "(?, ?, ?, ?, ?, ?, ?, ?)";
const COLUMNS = 8;
const INSERT_START = `
  insert into holdfast_run_starts (run_key, namespace_key, id, seed, first_run_id, continued_from, timeout_ms, input)
  values ${ROW}`;
const ROWS_PER_INSERT = 8;
const INSERT_MANY = INSERT_START.replace(ROW, Array(ROWS_PER_INSERT).fill(ROW).join(", "));

/** The rows of holdfast_run_starts of one call, several a statement: the fixed cost of a statement is larger than its cost per row. */
export class StartRows {
  readonly #sql: Connection;
  #values: SqlValue[] = [];

  constructor(sql: Connection) {
    this.#sql = sql;
  }

  /** `firstRunId` and `continuedFrom`: of a run that continues another one. */
  add(
    run: Pick<NewRun, "id" | "seed" | "timeoutMs" | "input">,
    runKey: number,
    namespaceKey: number,
    firstRunId: Uint8Array | null,
    continuedFrom: Uint8Array | null,
  ): void {
    const { id, seed, timeoutMs = null, input } = run;
    const values = this.#values;
    values.push(runKey, namespaceKey, id, seed, firstRunId, continuedFrom, timeoutMs, blob(input));
    if (values.length < COLUMNS * ROWS_PER_INSERT) return;
    this.#sql.execute(INSERT_MANY, ...values);
    this.#values = [];
  }

  /** Before anything reads them. */
  flush(): void {
    if (this.#values.length === 0) return;
    for (let at = 0; at < this.#values.length; at += COLUMNS)
      this.#sql.execute(INSERT_START, ...this.#values.slice(at, at + COLUMNS));
    this.#values = [];
  }
}
