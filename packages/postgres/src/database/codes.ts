import { EVENT_TYPES, type EventType, HoldfastError } from "holdfast/adapter";

const TYPE_CODES = new Map(EVENT_TYPES.map((type, code) => [type, code]));

export function eventTypeCode(type: EventType): number {
  const code = TYPE_CODES.get(type);
  if (code !== undefined) return code;
  throw new HoldfastError("invariant_broken", `PostgreSQL store: this version does not know the event type "${type}"`);
}

export function eventTypeName(code: number): EventType {
  const type = EVENT_TYPES[code];
  if (type !== undefined) return type;
  throw new HoldfastError(
    "invariant_broken",
    `PostgreSQL store: event type ${code} was written by a newer version. Update @holdfast/postgres.`,
  );
}

/** JSON as bytes: opaque to the store, and it may contain any text. */
export function jsonBytes(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

export function jsonOf<T>(bytes: unknown): T | null {
  return bytes === null || bytes === undefined ? null : (JSON.parse(Buffer.from(bytes as Uint8Array).toString()) as T);
}

/** A text array as a PostgreSQL literal. */
export function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/[\\"]/g, "\\$&")}"`).join(",")}}`;
}
