/** A figure for readers: thousands separated, only meaningful digits. */
export function figureText(value: number | undefined, digits = 0): string {
  if (value === undefined || Number.isNaN(value)) return "";
  const shown = digits === 0 && Math.abs(value) < 10 && !Number.isInteger(value) ? 2 : digits;
  return value.toLocaleString("en", { minimumFractionDigits: shown, maximumFractionDigits: shown });
}

/** "13 times", "1.4 times": ratios with two or three digits. */
export function ratioText(value: number | undefined): string {
  if (value === undefined) return "";
  return figureText(value, Number.isInteger(value) || value >= 100 ? 0 : value < 10 ? 2 : 1);
}
