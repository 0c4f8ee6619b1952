/**
 * The list with the item at its end. Most lists of a run have one entry at a time: `push` onto an empty list makes room for
 * seventeen, and that several times per step.
 */
export function appended<T>(list: readonly T[], item: T): T[] {
  if (list.length === 0) return [item];
  (list as T[]).push(item);
  return list as T[];
}

/** What a list that is only ever `appended` to is when it is empty: nobody can tell it from one of its own. */
export const NONE: readonly never[] = [];
