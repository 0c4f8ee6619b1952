/**
 * The list with the item at its end. Most lists of a run have one entry at a time: `push` onto an empty list makes room for
 * seventeen, and that several times per step.
 */
export function appended<T>(list: T[], item: T): T[] {
  if (list.length === 0) return [item];
  list.push(item);
  return list;
}
