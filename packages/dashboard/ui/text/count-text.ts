const WHOLE = new Intl.NumberFormat("en-US");

/** "12,480". */
export function countText(count: number): string {
  return WHOLE.format(count);
}

/** "10,000+" for a count that stopped there. */
export function cappedText(count: number, atLeast = false): string {
  return atLeast ? `${countText(count)}+` : countText(count);
}

/** "1 run", "12,480 runs". */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : plural}`;
}

/** "512 B", "63 kB". */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_500) return `${Number((bytes / 1000).toFixed(bytes < 9950 ? 1 : 0))} kB`;
  return `${Number((bytes / 1_000_000).toFixed(1))} MB`;
}
