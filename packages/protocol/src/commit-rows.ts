/**
 * Commits as columns. Most of them only append events to a run, and are alike in everything but a few numbers: as columns they take a third of
 * the time to write and half of the time to read that they take as objects. Whatever is not like that travels as it is.
 *
 * Only for a server that lists `COMMIT_ROWS` among its features.
 */
import { type CommitRunsParams, type HistoryEvent, HoldfastError, type RunCommit } from "holdfast/adapter";

export const COMMIT_ROWS = "commit_rows";

const ID_LENGTH = 36;
const NONE = -1;
/** Numbers of a commit, and of each of its events. */
const COMMIT_NUMBERS = 7;
const EVENT_NUMBERS = 5;

/** What becomes of a field: a new one does not compile until somebody has decided. `empty`: a commit that has it is no row. */
const FIELDS: { readonly [K in keyof RunCommit]-?: "kept" | "empty" } = {
  namespace: "kept",
  runId: "kept",
  workerId: "kept",
  epoch: "kept",
  commit: "kept",
  events: "kept",
  eventCount: "kept",
  consumed: "kept",
  transition: "kept",
  attributes: "empty",
  clearDeadline: "empty",
  tasks: "empty",
  settled: "empty",
  dropTasks: "empty",
  results: "empty",
  closes: "empty",
  replies: "empty",
  locks: "empty",
  unlocks: "empty",
};
const EMPTY_FIELDS = Object.entries(FIELDS)
  .filter(([, does]) => does === "empty")
  .map(([field]) => field as keyof RunCommit);

/** Commits as columns: those that only append events. */
export interface CommitRows {
  /** How many commits there are, rows and others. */
  readonly count: number;
  /** Texts that the numbers point to. */
  readonly names: readonly string[];
  /** The run ids of the rows, one behind the other. */
  readonly ids: string;
  readonly numbers: readonly number[];
  readonly payloads: Uint8Array;
  readonly metas: readonly NonNullable<HistoryEvent["meta"]>[];
  /** Commits that are no rows, and their places. */
  readonly others: readonly RunCommit[];
  readonly places: readonly number[];
}

/** The parameters of `runs.commit` in the form that is to be packed. */
export function commitRows({ commits }: CommitRunsParams): { readonly rows: CommitRows } {
  const writer = new RowsWriter();
  for (const commit of commits) writer.add(commit);
  return { rows: writer.rows() };
}

/** The parameters of `runs.commit`, whichever form they came in. Throws `store_refused` if they are neither. */
export function commitsOf(params: unknown): unknown {
  if (typeof params !== "object" || params === null || !("rows" in params)) return params;
  const commits = new RowsReader(params.rows).commits();
  if (commits) return { commits } satisfies CommitRunsParams;
  throw new HoldfastError("store_refused", "The commits that were sent are not what the server expects.");
}

class RowsWriter {
  readonly #names: string[] = [];
  readonly #places = new Map<string, number>();
  readonly #numbers: number[] = [];
  readonly #payloads: Uint8Array[] = [];
  readonly #metas: NonNullable<HistoryEvent["meta"]>[] = [];
  readonly #others: RunCommit[] = [];
  readonly #otherPlaces: number[] = [];
  #ids = "";
  #bytes = 0;
  #count = 0;

  add(commit: RunCommit): void {
    if (isRow(commit)) this.#addRow(commit);
    else {
      this.#others.push(commit);
      this.#otherPlaces.push(this.#count);
    }
    this.#count += 1;
  }

  rows(): CommitRows {
    const payloads = new Uint8Array(this.#bytes);
    let at = 0;
    for (const payload of this.#payloads) {
      payloads.set(payload, at);
      at += payload.length;
    }
    return {
      count: this.#count,
      names: this.#names,
      ids: this.#ids,
      numbers: this.#numbers,
      payloads,
      metas: this.#metas,
      others: this.#others,
      places: this.#otherPlaces,
    };
  }

  #addRow({ namespace, runId, workerId, epoch, commit, consumed, eventCount, events }: RunCommit): void {
    const numbers = this.#numbers;
    this.#ids += runId;
    numbers.push(this.#place(namespace), this.#place(workerId), epoch, commit, consumed, eventCount, events.length);
    for (const { type, op, at, payload, meta } of events) {
      numbers.push(this.#place(type), op === null ? NONE : this.#place(op), at, payload?.length ?? NONE, meta ? 1 : 0);
      if (meta) this.#metas.push(meta);
      if (!payload) continue;
      this.#payloads.push(payload);
      this.#bytes += payload.length;
    }
  }

  #place(name: string): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const place = this.#names.push(name) - 1;
    this.#places.set(name, place);
    return place;
  }
}

function isRow(commit: RunCommit): boolean {
  if (commit.transition.type !== "append" || commit.runId.length !== ID_LENGTH) return false;
  for (const field of EMPTY_FIELDS) {
    const value = commit[field];
    if (value && (!Array.isArray(value) || value.length > 0)) return false;
  }
  const { events, eventCount } = commit;
  // Their numbers follow from that of the last one.
  return (
    events.length === 0 || (events.at(-1)?.seq === eventCount && events[0]?.seq === eventCount - events.length + 1)
  );
}

/** Nothing of what it reads is to be trusted. */
class RowsReader {
  readonly #rows: Partial<Record<keyof CommitRows, unknown>>;
  #row = 0;
  #number = 0;
  #payload = 0;
  #meta = 0;

  constructor(rows: unknown) {
    this.#rows = typeof rows === "object" && rows !== null ? rows : {};
  }

  /** Undefined if it makes no sense. */
  commits(): readonly RunCommit[] | undefined {
    const { count, names, ids, numbers, payloads, metas, others, places } = this.#rows;
    const lists = [names, numbers, metas, others, places];
    if (!lists.every(Array.isArray) || typeof ids !== "string" || !(payloads instanceof Uint8Array)) return undefined;
    const rows = { count, names, ids, numbers, payloads, metas, others, places } as CommitRows;
    if (rows.count !== ids.length / ID_LENGTH + rows.others.length) return undefined;
    const commits: RunCommit[] = [];
    let other = 0;
    for (let place = 0; place < rows.count; place += 1) {
      const commit = rows.places[other] === place ? rows.others[other++] : this.#next(rows);
      if (!commit) return undefined;
      commits.push(commit);
    }
    return this.#isAtEnd(rows) && other === rows.others.length ? commits : undefined;
  }

  #isAtEnd({ numbers, payloads, metas }: CommitRows): boolean {
    return this.#number === numbers.length && this.#payload === payloads.length && this.#meta === metas.length;
  }

  #next({ names, ids, numbers, payloads, metas }: CommitRows): RunCommit | undefined {
    const at = this.#number;
    const eventCount = numbers[at + 5] as number;
    const count = numbers[at + 6] as number;
    this.#number += COMMIT_NUMBERS;
    if (!(this.#number + count * EVENT_NUMBERS <= numbers.length) || !(count >= 0)) return undefined;
    const events: HistoryEvent[] = [];
    for (let i = 1; i <= count; i += 1)
      events.push(this.#event(eventCount - count + i, names, numbers, payloads, metas));
    const runId = ids.slice(this.#row, this.#row + ID_LENGTH);
    this.#row += ID_LENGTH;
    return {
      namespace: names[numbers[at] as number] as string,
      runId,
      workerId: names[numbers[at + 1] as number] as string,
      epoch: numbers[at + 2] as number,
      commit: numbers[at + 3] as number,
      events,
      eventCount,
      consumed: numbers[at + 4] as number,
      attributes: null,
      clearDeadline: false,
      transition: { type: "append" },
    };
  }

  #event(
    seq: number,
    names: CommitRows["names"],
    numbers: CommitRows["numbers"],
    payloads: Uint8Array,
    metas: CommitRows["metas"],
  ): HistoryEvent {
    const at = this.#number;
    this.#number += EVENT_NUMBERS;
    const length = numbers[at + 3] as number;
    const type = names[numbers[at] as number] as HistoryEvent["type"];
    const op = numbers[at + 1] === NONE ? null : (names[numbers[at + 1] as number] as string);
    const when = numbers[at + 2] as number;
    const meta = numbers[at + 4] === 1 ? metas[this.#meta++] : undefined;
    if (length < 0) return meta ? { seq, type, op, at: when, meta } : { seq, type, op, at: when };
    // A copy: whoever keeps it must not keep all the others with it.
    const payload = payloads.slice(this.#payload, this.#payload + length);
    this.#payload += length;
    if (!meta) return { seq, type, op, at: when, payload };
    // A new field does not compile until somebody has decided what becomes of it.
    return { seq, type, op, at: when, payload, meta } satisfies Required<HistoryEvent>;
  }
}
