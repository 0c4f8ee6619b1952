import type { RunRecord } from "../../packages/holdfast/src/memory/state.ts";
import type { Message } from "../../packages/holdfast/src/model/message.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { StoreMethod } from "../../packages/holdfast/src/ports/store-calls.ts";
import type { Found, RunEvidence } from "../evidence.ts";
import type { SimStore } from "../store/sim-store.ts";

/** One of the stores that runs move between. */
export interface Place {
  readonly name: string;
  readonly store: SimStore;
}

/** Where each run is, over all stores: an account of the simulator's own, kept after every call. */
export class Whereabouts {
  readonly faults: Found[] = [];
  readonly #places: readonly Place[];
  /** Those that were ever seen open. */
  readonly #runIds = new Set<string>();
  /** Pairs of stores that have already been reported. */
  readonly #told = new Set<string>();
  departures = 0;
  arrivals = 0;

  constructor(places: readonly Place[]) {
    this.#places = places;
  }

  /** After every call of any store. */
  note(method: StoreMethod): void {
    if (method === "transfers.departIfIdle") this.departures += 1;
    if (method === "transfers.arrive") this.arrivals += 1;
    const open = new Map<string, string>();
    for (const { name, store } of this.#places)
      for (const { runId, status } of store.memory.state.runs.values()) {
        if (isClosed(status)) continue;
        this.#runIds.add(runId);
        const other = open.get(runId);
        if (other !== undefined) this.#fault(runId, `is open in ${other} and in ${name}`);
        open.set(runId, name);
      }
  }

  /** The store that has the newest run of the id that has not left it; undefined while that is on its way. */
  placeOf(id: string): Place | undefined {
    return this.#places.find(({ store }) => newest(store, id)?.status !== "moved" && newest(store, id) !== undefined);
  }

  /** The run has ended, in whichever store. */
  isOver(id: string): boolean {
    const rows = this.#places.flatMap(({ store }) => newest(store, id) ?? []);
    if (rows.some(({ status }) => !isClosed(status) || status === "moved")) return false;
    return (
      rows.length > 0 || this.#places.some(({ store }) => store.purgeWatch.purged.some(({ run }) => run.id === id))
    );
  }

  /** Every run as it is in the end, with what was deleted. What is nowhere, or in two stores, is a fault. */
  close(settled: boolean): readonly (RunEvidence & { readonly inbox: readonly Message[] })[] {
    const found = new Map<string, (RunEvidence & { readonly inbox: readonly Message[]; readonly place: string })[]>();
    for (const { name, store } of this.#places) {
      const { runs, events, inbox, departures } = store.memory.state;
      const here = [...runs.values()].map((run) => ({
        run,
        history: events.get(run.runId) ?? [],
        inbox: inbox.get(run.runId) ?? [],
      }));
      for (const one of [...here, ...store.purgeWatch.purged]) {
        if (one.run.status === "moved") continue;
        const { runId } = one.run;
        found.set(runId, [...(found.get(runId) ?? []), { ...one, place: name }]);
      }
      if (settled)
        for (const { runId, to } of departures.values()) this.#fault(runId, `never came from ${name} to ${to}`);
    }
    for (const runId of this.#runIds) if (!found.has(runId)) this.#fault(runId, "is in no store any more");
    for (const [runId, copies] of found)
      if (copies.length > 1) this.#fault(runId, `has ended in ${copies.map(({ place }) => place).join(" and in ")}`);
    // As they began: runs of one chain follow each other.
    const all = [...found.values()].map(([first]) => first as NonNullable<typeof first>);
    return all.sort((a, b) => a.run.createdAt - b.run.createdAt || (a.run.runId < b.run.runId ? -1 : 1));
  }

  #fault(runId: string, text: string): void {
    if (this.#told.has(`${runId} ${text}`)) return;
    this.#told.add(`${runId} ${text}`);
    this.faults.push({ runId, text });
  }
}

function newest({ memory }: SimStore, id: string): RunRecord | undefined {
  const { byId, runs } = memory.state;
  return runs.get(byId.get(`default\n${id}`)?.at(-1) ?? "");
}
