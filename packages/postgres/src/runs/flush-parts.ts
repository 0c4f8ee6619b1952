import type { RunCommit } from "holdfast/adapter";
import type { Placed } from "./new-tasks.ts";

/** Each pair of a worker and a namespace once, and for each commit the position of its pair. */
export function workersOf(commits: readonly RunCommit[]) {
  const workers: RunCommit[] = [];
  const by: number[] = [];
  let at = -1;
  for (const commit of commits) {
    const isSame = (other: RunCommit): boolean =>
      other.workerId === commit.workerId && other.namespace === commit.namespace;
    // Nearly always, all of them belong to one worker.
    if (at < 0 || !isSame(workers[at] as RunCommit)) at = workers.findIndex(isSame);
    if (at < 0) at = workers.push(commit) - 1;
    by.push(at + 1);
  }
  return { workers, by };
}

/** Null for what hardly any flush has. */
export function ifAny<T>(items: readonly T[], toArray: (items: readonly T[]) => Buffer): Buffer | null {
  return items.length === 0 ? null : toArray(items);
}

const NONE: readonly never[] = [];

/** What some of these have, each with the position of whose it is. Most have nothing, and cost nothing. */
export function withPosition<Owner, T>(
  owners: readonly Owner[],
  of: (owner: Owner, i: number) => readonly T[] | undefined,
): Placed<T>[] {
  const found: Placed<T>[] = [];
  for (let i = 0; i < owners.length; i++) {
    for (const item of of(owners[i] as Owner, i) ?? NONE) found.push({ i: i + 1, item });
  }
  return found;
}
