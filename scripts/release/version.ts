// Versions: `1.2.3`, or `1.2.3-beta.1` before it.

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-([a-z]+)\.(\d+))?$/;

export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/** Above zero if `a` comes after `b`. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (const [index, part] of left.entries()) {
    const other = right[index] as string | number;
    if (part !== other) return part > other ? 1 : -1;
  }
  return 0;
}

/** A version without a suffix comes after all that have one. */
function partsOf(version: string): (string | number)[] {
  const [, major, minor, patch, word = "~", count = 0] = VERSION.exec(version) ?? [];
  return [Number(major), Number(minor), Number(patch), word, Number(count)];
}
