/** The chain of ops that decided how long a run took: each was asked for because the one before had ended. */

export interface PathOp {
  /** The event that made the code ask for it; -1 if unknown. */
  readonly after: number;
  /** Its last event; -1 if it has none. */
  readonly last: number;
}

/** Indexes, from the first op to the last. `ownerOf`: the index of the op that an event is about. */
export function criticalPath(ops: readonly PathOp[], ownerOf: (seq: number) => number | undefined): number[] {
  let at = lastOf(ops);
  const path: number[] = [];
  const seen = new Set<number>();
  while (at !== undefined && !seen.has(at)) {
    seen.add(at);
    path.push(at);
    const { after } = ops[at] as PathOp;
    at = after <= 0 ? undefined : ownerOf(after);
  }
  return path.reverse();
}

/** The op that is still open and was asked for last, else the one that ended last. */
function lastOf(ops: readonly PathOp[]): number | undefined {
  let found: number | undefined;
  let best = -1;
  ops.forEach(({ after, last }, index) => {
    const rank = Math.max(after, last);
    if (rank < best) return;
    best = rank;
    found = index;
  });
  return found;
}
