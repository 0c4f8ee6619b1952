/**
 * The list with the item at its end. Most lists of a run have one entry at a time: `push` onto an empty list allocates room
 * for seventeen, several times per step.
 */
export function appended<T>(list: readonly T[], item: T): T[] {
  if (list.length === 0) return [item];
  (list as T[]).push(item);
  return list as T[];
}

/** The shared empty list, for lists that are only ever `appended` to: it cannot be told from a separate one. */
export const NONE: readonly never[] = [];
