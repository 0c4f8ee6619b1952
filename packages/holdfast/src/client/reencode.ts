/**
 * Writes stored values as the current codec writes them, run after run, in batches. Nothing is remembered between calls: what
 * was written in the current way is passed over, so a call that was broken off is continued by the next one.
 *
 * R1. Only the encoding changes: a value is replaced by the same value, and only if it still has the bytes that were read.
 * R2. A value that a process may be about to copy to another place is left alone (the store says `in_use`), and a pass that has
 *     replaced anything is followed by another one. So copies made in the meantime are found, too.
 */
import { pause } from "../calls/store-retry.ts";
import type { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkOptions,
  invalidOption,
  isBoolean,
  isFunction,
  type OptionChecks,
  optionsOf,
  wholeNumber,
} from "../errors/option-checks.ts";
import { batchNamespace } from "../model/batch.ts";
import type { Payload } from "../model/payload.ts";
import type { PayloadPlace, PlacedPayload } from "../model/payload-place.ts";
import type { RunRow } from "../model/run.ts";
import type { ListRunsParams, ReplacePayload, RunFilter } from "../ports/store.ts";
import type { ClientCore } from "./client-core.ts";
import type { ListFilter } from "./client-options.ts";
import { LIST_FILTER, readCursor, runFilter, writeCursor } from "./list-filter.ts";

const RUNS_PER_CALL = 50;
const VALUES_PER_RUN = 100;
/** Of each run in one call: large values come one by one. */
const BYTES_PER_RUN = 262_144;
/** Small enough that a batch does not delay the commits of these runs. */
const BATCH_SIZE = 100;
/** Enough for everything that was copied meanwhile; more than that and somebody still writes in the old way. */
const PASSES_MAX = 10;
/** How often a pass that could replace nothing is repeated because of values in use, and after which time. */
const WAITS_MAX = 3;
const WAIT_MS = 1_000;

/** Options of `hf.reencode`. */
export interface ReencodeOptions {
  /**
   * Only the values of runs that match it.
   * @defaultValue all runs of the namespace
   */
  readonly filter?: ListFilter;
  /**
   * How many values may be written each second.
   * @defaultValue no limit
   */
  readonly perSecond?: number;
  /**
   * Counts, and writes nothing.
   * @defaultValue `false`
   */
  readonly dryRun?: boolean;
  /**
   * Where to begin: the `cursor` of the progress of a call that was broken off.
   * @defaultValue at the newest run
   */
  readonly cursor?: string;
  /**
   * Called after each batch of runs. The next one waits for it; if it throws, the call ends with that error.
   * @defaultValue none
   */
  readonly onProgress?: (progress: ReencodeProgress) => unknown;
}

/** How far `hf.reencode` is, or what it has done. */
export interface ReencodeProgress {
  /** How many runs were gone through. Those that were gone through again count once more. */
  readonly runs: number;
  /** How many values were written in the current way. */
  readonly rewritten: number;
  /**
   * Of the runs that this pass has gone through: how many values are not written in the current way. At the end, 0 means
   * that no value needs another key, or another codec, any more.
   */
  readonly left: number;
  /** How many of these cannot be read at all. The log says why. */
  readonly unreadable: number;
  /** Continues a call that was broken off here; null before the first run and after the last one. */
  readonly cursor: string | null;
}

const REENCODE_OPTIONS: OptionChecks<ReencodeOptions> = {
  filter: optionsOf(LIST_FILTER),
  perSecond: wholeNumber(1),
  dryRun: isBoolean,
  cursor: (value, where) => void readCursor(value, where),
  onProgress: isFunction,
};

export async function reencodeStored(core: ClientCore, options: ReencodeOptions): Promise<ReencodeProgress> {
  checkOptions(options, REENCODE_OPTIONS, "reencode");
  const { codec } = core.ports;
  if (!codec.reencode) {
    const fault = "has no method reencode(payload), which returns a payload as it would be written today";
    throw invalidOption("reencode", `the codec ${JSON.stringify(codec.name)}`, fault);
  }
  const work = new Reencoding(core, options, (payload) => codec.reencode?.(payload) ?? payload);
  let waits = 0;
  for (let passes = 1; ; passes++) {
    const before = work.progress.rewritten;
    await work.pass(passes === 1 ? options.cursor : undefined);
    const { rewritten, left, unreadable } = work.progress;
    if (options.dryRun || passes === PASSES_MAX) return work.progress;
    if (rewritten > before) continue;
    waits += 1;
    if (left === unreadable || waits > WAITS_MAX) return work.progress;
    await pause({ ...core.ports, life: core.life }, WAIT_MS);
  }
}

type Place = PayloadPlace & { readonly namespace: string; readonly runId: string };

class Reencoding {
  readonly #core: ClientCore;
  readonly #options: ReencodeOptions;
  readonly #reencode: (payload: Payload) => Payload;
  readonly #reported = new Set<string>();
  readonly #began: number;
  #progress = { runs: 0, rewritten: 0, left: 0, unreadable: 0, cursor: null as string | null };

  constructor(core: ClientCore, options: ReencodeOptions, reencode: (payload: Payload) => Payload) {
    this.#core = core;
    this.#options = options;
    this.#reencode = reencode;
    this.#began = core.ports.clock.monotonic();
  }

  get progress(): ReencodeProgress {
    return { ...this.#progress };
  }

  /** All runs once, the newest first. */
  async pass(cursor: string | undefined): Promise<void> {
    this.#progress = { ...this.#progress, left: 0, unreadable: 0, cursor: null };
    const { filter } = this.#options;
    const { namespace } = this.#core;
    // Batches are found by name alone, but their values are kept in the same way.
    if (filter === undefined && cursor === undefined) {
      await this.#schedules();
      await this.#all({ namespace: batchNamespace(namespace) }, undefined);
    }
    await this.#all(runFilter(namespace, filter ?? {}), cursor);
  }

  /** The inputs of schedules. One that is changed meanwhile is left to the next pass. */
  async #schedules(): Promise<void> {
    const { namespace } = this.#core;
    for (let after: string | undefined; ; ) {
      const params = { namespace, limit: RUNS_PER_CALL, ...(after === undefined ? {} : { after }) };
      const page = await this.#core.call((store) => store.schedules.list(params));
      const puts = page.flatMap(({ id, revision, state, input: from }) => {
        const input = this.#current({ schedule: id }, from);
        if (input === undefined || isSame(input, from)) return [];
        return [{ namespace, id, revision, next: this.#core.newId(), state, input, decided: [], starts: [] }];
      });
      if (this.#options.dryRun) this.#progress.left += puts.length;
      else if (puts.length > 0) {
        const { outcomes } = await this.#core.call((store) => store.schedules.putIfRevision({ puts, announce: false }));
        this.#count(outcomes.filter(({ outcome }) => outcome === "written").length, outcomes.length);
      }
      after = page.at(-1)?.id;
      if (page.length < RUNS_PER_CALL) return;
    }
  }

  #count(rewritten: number, of: number): void {
    this.#progress.rewritten += rewritten;
    this.#progress.left += of - rewritten;
  }

  async #all(filter: RunFilter, cursor: string | undefined): Promise<void> {
    let before = cursor === undefined ? undefined : readCursor(cursor, "reencode");
    for (;;) {
      const params: ListRunsParams = { ...filter, limit: RUNS_PER_CALL, ...(before ? { before } : {}) };
      const rows = await this.#core.call((store) => store.runs.list(params));
      await this.#runs(rows);
      before = rows.at(-1);
      this.#progress.runs += rows.length;
      this.#progress.cursor = before && rows.length === RUNS_PER_CALL ? writeCursor(before) : null;
      if (rows.length > 0) await this.#options.onProgress?.(this.progress);
      if (this.#progress.cursor === null) return;
    }
  }

  async #runs(rows: readonly RunRow[]): Promise<void> {
    const limits = { limitPerRun: VALUES_PER_RUN, bytesPerRun: BYTES_PER_RUN };
    let runs = rows.map(({ namespace, runId }) => ({ namespace, runId, after: null as PayloadPlace | null }));
    while (runs.length > 0) {
      const asked = runs;
      const lists = await this.#core.call((store) => store.payloads.read({ runs: asked, ...limits }));
      const old = asked.flatMap(({ namespace, runId }, i) => this.#old({ namespace, runId }, lists[i] ?? []));
      await this.#replace(old);
      runs = asked.flatMap(({ namespace, runId }, i) => {
        const list = lists[i] ?? [];
        const after = list.at(-1);
        return after === undefined || isWhole(list) ? [] : [{ namespace, runId, after }];
      });
    }
  }

  #old(run: Pick<Place, "namespace" | "runId">, values: readonly PlacedPayload[]): ReplacePayload[] {
    const old: ReplacePayload[] = [];
    for (const { part, number, payload: from } of values) {
      const to = this.#current({ runId: run.runId, part, number }, from);
      if (to !== undefined && !isSame(to, from)) old.push({ ...run, part, number, from, to });
    }
    return old;
  }

  /** The value as it is written today; undefined if it cannot be read. */
  #current(where: Readonly<Record<string, unknown>>, payload: Payload): Payload | undefined {
    try {
      return this.#reencode(payload);
    } catch (error) {
      this.#progress.left += 1;
      this.#progress.unreadable += 1;
      const { code, message } = error as Partial<HoldfastError>;
      const text = String(message ?? error);
      if (!this.#reported.has(text)) {
        const what = "a stored value cannot be read and stays as it is; more like this one are not reported";
        this.#core.ports.log.warn({ ...where, code, reason: text }, what);
      }
      this.#reported.add(text);
      return undefined;
    }
  }

  async #replace(old: readonly ReplacePayload[]): Promise<void> {
    const { dryRun, perSecond = Number.POSITIVE_INFINITY } = this.#options;
    if (dryRun) {
      this.#progress.left += old.length;
      return;
    }
    const size = Math.min(BATCH_SIZE, perSecond);
    for (let i = 0; i < old.length; i += size) {
      const payloads = old.slice(i, i + size);
      const { outcomes } = await this.#core.call((store) => store.payloads.replaceIfUnchanged({ payloads }));
      this.#count(outcomes.filter((outcome) => outcome === "replaced").length, outcomes.length);
      await this.#slowDown(perSecond);
    }
  }

  async #slowDown(perSecond: number): Promise<void> {
    const { clock } = this.#core.ports;
    const aheadMs = (this.#progress.rewritten * 1_000) / perSecond - (clock.monotonic() - this.#began);
    if (aheadMs > 0) await pause({ ...this.#core.ports, life: this.#core.life }, aheadMs);
  }
}

/** Whether the run has no more values than these. */
function isWhole(values: readonly PlacedPayload[]): boolean {
  const bytes = values.reduce((sum, { payload }) => sum + payload.length, 0);
  return values.length < VALUES_PER_RUN && bytes < BYTES_PER_RUN;
}

function isSame(a: Payload, b: Payload): boolean {
  return a === b || (a.length === b.length && a.every((byte, i) => byte === b[i]));
}
