/**
 * Hints for other processes: rows in the file, written in the transaction that they announce.
 *
 * The bell is the file's modification time, set after the commit. Watching the write-ahead log would ring too often (at every
 * page) and too early: its last page is written before other processes can see the commit, and nothing is written after it.
 */
import { utimesSync } from "node:fs";
import type { Clock, Hint } from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import type { Connection } from "./database/connection.ts";
import { sharedUuidBytes, uuidText } from "./database/uuid.ts";

/** A reader that is further behind than this loses hints, which costs it time, not correctness. */
const ROWS_KEPT = 256;
const ROWS_PER_PRUNING = 64;

export interface HintLogParams {
  readonly clock: Clock;
  readonly file: string;
  /** Distinguishes this connection's rows from those of others. */
  readonly source: number;
  /** Passes hints to the subscribers in this process. */
  readonly publish: (hints: readonly Hint[]) => void;
}

export class HintLog {
  readonly #params: HintLogParams;
  /** All rows up to this number have been read, or are our own. */
  #seen = 0;
  #recorded = 0;

  constructor(params: HintLogParams) {
    this.#params = params;
  }

  /** Hints from before this connection was opened are skipped. */
  begin(sql: Connection): void {
    this.#seen = lastNumber(sql);
  }

  /** Inside the transaction. */
  record({ sql, hints }: Call): void {
    this.#recorded = 0;
    if (hints.length === 0) return;
    this.#recorded = recordHints(sql, this.#params.source, hints);
    if (this.#recorded % ROWS_PER_PRUNING === 0)
      sql.run("delete from holdfast_hints where number <= ?", this.#recorded - ROWS_KEPT);
  }

  /** After the commit. */
  announce({ hints }: Call): void {
    if (hints.length === 0) return;
    if (this.#recorded === this.#seen + 1) this.#seen = this.#recorded;
    this.#params.publish(hints);
    this.ring();
  }

  /** Makes other processes read the hints. */
  ring(): void {
    const seconds = this.#params.clock.now() / 1000;
    try {
      utimesSync(this.#params.file, seconds, seconds);
    } catch {
      // The file belongs to another user, or is gone: other processes find out at their next poll.
    }
  }

  /** The hints that other processes have written since the last call. */
  news({ sql }: Call): Hint[] {
    const { source } = this.#params;
    const rows = sql.all<{ number: number; hints: string }>(
      "select number, hints from holdfast_hints where number > ? and source <> ? order by number",
      ...[this.#seen, source],
    );
    this.#seen = Math.max(this.#seen, lastNumber(sql));
    return rows.flatMap((row) => decode(row.hints));
  }
}

/** Returns the number of the row. */
export function recordHints(sql: Connection, source: number, hints: readonly Hint[]): number {
  return sql.insert("insert into holdfast_hints (source, hints) values (?, ?)", source, encode(hints));
}

function lastNumber(sql: Connection): number {
  return sql.get<{ last: number | null }>("select max(number) as last from holdfast_hints")?.last ?? 0;
}

/** Ends come by the hundreds, so their run ids are packed: a flush that ends 500 runs is one row of about 11 kB. */
interface HintText {
  readonly hints: readonly Hint[];
  readonly ended: readonly (readonly [namespace: string, runIds: string])[];
}

function encode(hints: readonly Hint[]): string {
  const ended = new Map<string, string[]>();
  const others: Hint[] = [];
  for (const hint of hints) {
    if (hint.type !== "ended") {
      others.push(hint);
      continue;
    }
    const ids = ended.get(hint.namespace);
    if (ids) ids.push(hint.runId);
    else ended.set(hint.namespace, [hint.runId]);
  }
  const packed = [...ended].map(([namespace, ids]) => [namespace, packedRunIds(ids)] as const);
  const text: HintText = { hints: others, ended: packed };
  return JSON.stringify(text);
}

function packedRunIds(runIds: readonly string[]): string {
  const bytes = Buffer.alloc(runIds.length * 16);
  runIds.forEach((runId, i) => void bytes.set(sharedUuidBytes(runId), i * 16));
  return bytes.toString("base64");
}

function decode(text: string): Hint[] {
  const { hints, ended } = JSON.parse(text) as HintText;
  const ends = ended.flatMap(([namespace, packed]) =>
    runIdsOf(packed).map((runId): Hint => ({ type: "ended", namespace, runId })),
  );
  return [...hints, ...ends];
}

function runIdsOf(packed: string): string[] {
  const bytes = Buffer.from(packed, "base64");
  return Array.from({ length: bytes.length / 16 }, (_, i) => uuidText(bytes.subarray(i * 16, (i + 1) * 16)));
}
