/** Replaces a value that throws when it is read. */
export const UNREADABLE = "a value that cannot be read";

/** Reads a property of any value. A thrown value can be hostile: a getter or proxy that throws reads as undefined. */
export function readProperty(value: unknown, key: PropertyKey): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<PropertyKey, unknown>)[key];
  } catch {
    return undefined;
  }
}

/** The same for a property that should be text; an empty string counts as absent. */
export function readText(value: unknown, key: PropertyKey): string | undefined {
  const text = readProperty(value, key);
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** `instanceof`, which a proxy can make throw. */
export function isInstance<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/** The members of a list; empty for anything else, and for a list that cannot be read. */
export function membersOf(value: unknown): readonly unknown[] {
  try {
    return Array.isArray(value) ? [...value] : [];
  } catch {
    return [];
  }
}

/** Any value as text for people. */
export function describeValue(value: unknown): string {
  try {
    return String(value);
  } catch {
    return UNREADABLE;
  }
}
