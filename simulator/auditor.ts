/**
 * Reads histories as a worker does that has never seen their run, and compares them with the events in the store: it must not matter
 * what was packed, and what has become of it since.
 */
import { HistoryReader } from "../packages/holdfast/src/calls/history-reader.ts";
import type { RunRecord } from "../packages/holdfast/src/memory/state.ts";
import type { Found } from "./evidence.ts";
import { type Caller, insist } from "./insist.ts";
import { sameEvents } from "./store/segment-watch.ts";
import type { SimStore } from "./store/sim-store.ts";

export interface AuditorParams extends Caller {
  readonly store: SimStore;
  readonly complain: (text: string) => void;
}

export class Auditor {
  readonly faults: Found[] = [];
  readonly #params: AuditorParams;
  #open = 0;
  count = 0;

  constructor(params: AuditorParams) {
    this.#params = params;
  }

  get busy(): boolean {
    return this.#open > 0;
  }

  /** Audits and harms until it is over; then reads every run once more. `harmMs` 0: nothing is harmed. */
  begin({ auditMs, harmMs }: { readonly auditMs: number; readonly harmMs: number }, over: () => boolean): void {
    const { store, dice } = this.#params;
    const runs = (): RunRecord[] => [...store.memory.state.runs.values()];
    const now = (): number => store.time.elapsedMs;
    if (harmMs > 0) this.#every(harmMs, over, () => store.segmentWatch.harm(now(), dice));
    const audit = (): void => {
      if (runs().length > 0) this.#audit(dice.pick(runs()));
    };
    this.#every(auditMs, over, audit, () => {
      for (const row of runs()) this.#audit(row);
    });
  }

  #every(ms: number, over: () => boolean, act: () => void, last = (): void => {}): void {
    const { store, dice } = this.#params;
    store.time.at(dice.between(0.2, 2) * ms, () => {
      if (over()) return last();
      act();
      this.#every(ms, over, act, last);
    });
  }

  #audit(row: RunRecord): void {
    this.#open += 1;
    this.#read(row).then(
      () => {
        this.#open -= 1;
      },
      (error) => {
        this.#open -= 1;
        this.#params.complain(`reading all of ${row.id}: ${error}`);
      },
    );
  }

  async #read(row: RunRecord): Promise<void> {
    const { store, dice } = this.#params;
    const { segments, events } = store.memory.state;
    const { runId } = row;
    const read = await insist(
      this.#params,
      async (_client, process) => {
        const run = { ...row };
        // The answer to a claim may be old when the history is read.
        if (dice.chance(0.3)) await store.time.wait(dice.between(100, 3_000));
        // Whoever knows of no more events than one segment has does not ask for segments.
        const asks = run.eventCount > (process.ports.eventsPerSegment ?? 0);
        const damaged = asks ? store.segmentWatch.damagedIn(runId, run.eventCount) : undefined;
        const before = { stored: segments.get(runId), damaged };
        const reported = store.segmentWatch.reports.length;
        const history = await new HistoryReader(process.ports, () => false).read(run);
        return { run, before, reported, history };
      },
      [],
    );
    if (!read) return;
    this.count += 1;
    const { run, before, reported, history } = read.value;
    const fault = (text: string): void => void this.faults.push({ runId, text });
    if (!sameEvents(history.events, (events.get(runId) ?? []).slice(0, run.eventCount)))
      fault(`a worker that reads all of its ${run.eventCount} events gets others`);
    const { damaged, stored } = before;
    if (!damaged || stored !== segments.get(runId)) return;
    const told = store.segmentWatch.reports.slice(reported).some((one) => one.runId === runId);
    if (!told) fault(`nobody says that the segment from event ${damaged.firstSeq} on is damaged`);
  }
}
