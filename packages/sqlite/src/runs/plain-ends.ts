import type { HistoryEvent } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { eventTypeCode, statusCode } from "../database/codes.ts";
import { blob, type SqlValue } from "../database/driver.ts";
import { metaText, payloadBytes } from "../histories.ts";
import { INSERT_END_AND_TAIL, type RunEnding, setEnd } from "./ends.ts";
import { RUNS_PER_UPDATE } from "./holds.ts";
import { announceEnd, COUNT, type Counts, errorText, type StateRow } from "./run-state.ts";

const COUNT_AND_END_ALL = `update holdfast_runs set ${COUNT}, ${setEnd("in (select value from json_each(?))")}`;
const ROWS_PER_INSERT = 8;
const COLUMNS = 11;
const ROW = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const INSERT_MANY = INSERT_END_AND_TAIL.replace(ROW, Array(ROWS_PER_INSERT).fill(ROW).join(", "));

/** Runs of one workflow mostly end in the same way; there is no sense in searching for those that do not. */
const GROUPS_MAX = 16;

/** Runs whose rows change in the same way. */
interface Group {
  readonly status: number;
  readonly endedAt: number;
  readonly eventCount: number;
  readonly consumed: number;
  readonly runKeys: number[];
}

/**
 * The ends of one flush of runs that have nothing to do with others (no ties). They are written together: the fixed cost of a
 * statement is larger than its cost per row.
 */
export class PlainEnds {
  readonly #call: Call;
  readonly #groups: Group[] = [];
  #values: SqlValue[] = [];
  readonly #runKeys = new Set<number>();

  constructor(call: Call) {
    this.#call = call;
  }

  /** Whether the end of that run is not written yet. */
  has(runKey: number): boolean {
    return this.#runKeys.has(runKey);
  }

  /** `tail`: the last event, if it is kept with the end. */
  add(
    row: Pick<StateRow, "runKey" | "laneId"> & { readonly runId: string },
    end: RunEnding,
    counts: Counts,
    tail: HistoryEvent | undefined,
  ): void {
    const { runKey } = row;
    // This may write those before.
    this.#groupOf(end, counts).runKeys.push(runKey);
    this.#runKeys.add(runKey);
    const { compensation = null, error, output } = end;
    const values = this.#values;
    values.push(runKey, null, compensation, errorText(error), output === null ? null : blob(output));
    if (tail) values.push(tail.seq, eventTypeCode(tail.type), tail.at, tail.op, metaText(tail), payloadBytes(tail));
    else values.push(null, null, null, null, null, null);
    if (values.length === COLUMNS * ROWS_PER_INSERT) {
      this.#call.sql.execute(INSERT_MANY, ...values);
      this.#values = [];
    }
    announceEnd(this.#call, row);
  }

  /** Before anything else reads these runs. */
  flush(): void {
    const { sql } = this.#call;
    for (let at = 0; at < this.#values.length; at += COLUMNS)
      sql.execute(INSERT_END_AND_TAIL, ...this.#values.slice(at, at + COLUMNS));
    for (const { status, endedAt, eventCount, consumed, runKeys } of this.#groups) {
      for (let at = 0; at < runKeys.length; at += RUNS_PER_UPDATE) {
        const keys = JSON.stringify(runKeys.slice(at, at + RUNS_PER_UPDATE));
        sql.execute(COUNT_AND_END_ALL, eventCount, consumed, status, endedAt, keys);
      }
    }
    this.#values = [];
    this.#groups.length = 0;
    this.#runKeys.clear();
  }

  #groupOf(end: RunEnding, { eventCount, consumed }: Counts): Group {
    const status = statusCode(end.status);
    const endedAt = Math.max(this.#call.now, end.lastEventAt);
    for (let i = this.#groups.length - 1; i >= 0; i--) {
      const group = this.#groups[i] as Group;
      const same = group.status === status && group.endedAt === endedAt;
      if (same && group.eventCount === eventCount && group.consumed === consumed) return group;
    }
    if (this.#groups.length === GROUPS_MAX) this.flush();
    const group = { status, endedAt, eventCount, consumed, runKeys: [] };
    this.#groups.push(group);
    return group;
  }
}
