export interface ValueDifference {
  readonly path: string;
  readonly expected: unknown;
  readonly found: unknown;
}

/** The first place where two values differ. Undefined counts as absent; bytes are compared as bytes. */
export function differenceOf(expected: unknown, found: unknown, path: string): ValueDifference | undefined {
  if (Object.is(expected, found)) return undefined;
  if (expected instanceof Uint8Array && found instanceof Uint8Array) {
    const same = expected.length === found.length && expected.every((byte, i) => byte === found[i]);
    return same ? undefined : { path, expected, found };
  }
  if (!isContainer(expected) || !isContainer(found) || Array.isArray(expected) !== Array.isArray(found))
    return { path, expected, found };
  if (Array.isArray(expected) && expected.length !== (found as unknown as unknown[]).length)
    return { path, expected, found };
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const difference = differenceOf(expected[key], found[key], `${path}.${key}`);
    if (difference) return difference;
  }
  return undefined;
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array);
}
