const LENGTH_MAX = 80;

/** A value as shown in a message: short, and safe even if the value throws when it is read. */
export function shownValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > LENGTH_MAX ? `${value.slice(0, LENGTH_MAX)}…` : value);
    case "bigint":
      return `${value}n`;
    case "symbol":
      return "a symbol";
    case "function":
      return "a function";
    case "object":
      return shownObject(value);
    default:
      return String(value);
  }
}

function shownObject(value: object | null): string {
  if (value === null) return "null";
  try {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : "a Date";
    const json = JSON.stringify(value) as string | undefined;
    if (json !== undefined && json.length <= LENGTH_MAX) return json;
    return Array.isArray(value) ? "an array" : "an object";
  } catch {
    return "an object";
  }
}
