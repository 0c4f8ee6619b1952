/** One figure. */
export interface Row {
  readonly store: string;
  readonly what: string;
  readonly value: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN;
}

export function printTable(rows: readonly Row[]): void {
  const width = Math.max(...rows.map((row) => row.what.length));
  for (const row of rows)
    console.log(`${row.store.padEnd(9)} ${row.what.padEnd(width)}  ${row.value.toLocaleString("en")}`);
}
