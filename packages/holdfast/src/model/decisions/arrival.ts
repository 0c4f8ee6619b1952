/** A run that is about to be written into a store that it comes to. */
export interface Arriving {
  readonly closed: boolean;
  readonly epoch: number;
  readonly createdAt: number;
}

/** What the store knows: the run with that run id, what was noted at its last arrival, and the other runs of its id. */
export interface AtArrival {
  readonly same: { readonly moved: boolean; readonly epoch: number } | undefined;
  readonly noted: { readonly epoch: number; readonly refused: ArrivalRefusal | null } | undefined;
  readonly newest: { readonly closed: boolean; readonly createdAt: number } | undefined;
  readonly oldest: { readonly createdAt: number } | undefined;
}

/** `exists`: a run has that run id. `id_taken`: another run of its id stands in the way. */
export type ArrivalRefusal = "exists" | "id_taken";

/**
 * Whether a run may arrive. An open run arrives once for each departure, which its epoch names: what was noted then is also the
 * answer to every repetition, even if the run has ended and was purged since, so that it never runs twice; and a refusal stays a
 * refusal, so that its source can take it back. A run that has left here before may come back.
 * Runs of one id keep their order: an open one is the newest, and a closed one is older than all that are here.
 */
export function judgeArrival(run: Arriving, at: AtArrival): "arrive" | "replace" | "arrived" | ArrivalRefusal {
  if (run.closed) {
    if (at.same) return "exists";
    return at.oldest && at.oldest.createdAt <= run.createdAt ? "id_taken" : "arrive";
  }
  if (at.noted && at.noted.epoch >= run.epoch) return at.noted.refused ?? "arrived";
  if (at.same && !(at.same.moved && at.same.epoch < run.epoch)) return "exists";
  if (at.newest && (!at.newest.closed || at.newest.createdAt >= run.createdAt)) return "id_taken";
  return at.same ? "replace" : "arrive";
}
