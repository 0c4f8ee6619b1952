/** Any value as JSON text. What JSON cannot hold is written as an object with one key: `{"$date":…}`. */

const DEPTH_MAX = 200;

export function plainText(value: unknown, indent = 2): string {
  return JSON.stringify(plain(value, 0), null, indent) ?? "";
}

function plain(value: unknown, depth: number): unknown {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number")
    return Number.isFinite(value) && !Object.is(value, -0)
      ? value
      : { $number: Object.is(value, -0) ? "-0" : `${value}` };
  if (typeof value === "bigint") return { $bigint: value.toString() };
  if (value === undefined) return { $undefined: true };
  if (typeof value !== "object") return { $unknown: typeof value };
  if (depth > DEPTH_MAX) return { $deep: true };
  return special(value, depth) ?? fields(value, depth);
}

function special(value: object, depth: number): unknown {
  if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1));
  if (value instanceof Date) return { $date: Number.isNaN(value.getTime()) ? null : value.toISOString() };
  if (value instanceof Map)
    return { $map: [...value].map(([key, one]) => [plain(key, depth + 1), plain(one, depth + 1)]) };
  if (value instanceof Set) return { $set: [...value].map((one) => plain(one, depth + 1)) };
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return { $binary: base64(value) };
  if (value instanceof URL) return { $url: value.href };
  if (value instanceof RegExp) return { $regexp: `${value}` };
  if (value instanceof Error) return { $error: { name: value.name, message: value.message } };
  return undefined;
}

/** `__proto__` is a key like others: it is defined, never assigned. */
function fields(value: object, depth: number): object {
  const made = Object.create(null) as object;
  for (const [key, one] of Object.entries(value))
    Object.defineProperty(made, key, { value: plain(one, depth + 1), enumerable: true });
  return made;
}

function base64(value: ArrayBuffer | ArrayBufferView): string {
  const bytes = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value);
  return bytes.toString("base64");
}
