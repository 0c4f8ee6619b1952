/** Values as JSON: what JSON itself cannot say is put in the nearest words, so that a program can always read the line. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value, plain) ?? "null";
}

/** The same for people: as few lines as are easy to read. */
export function shownJson(value: unknown, width = 80): string {
  const line = jsonLine(value);
  return line.length <= width ? line : (JSON.stringify(value, plain, 2) ?? "null");
}

function plain(this: unknown, _key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof RegExp) return value.toString();
  if (value instanceof Error && !("toJSON" in value)) return { name: value.name, message: value.message };
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value;
}
