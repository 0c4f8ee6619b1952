/** Reads a property of anything. A thrown value can be hostile: a getter or proxy that throws reads as undefined. */
export function readProperty(value: unknown, key: PropertyKey): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<PropertyKey, unknown>)[key];
  } catch {
    return undefined;
  }
}

/** The same for a property that should be text; an empty text counts as absent. */
export function readText(value: unknown, key: PropertyKey): string | undefined {
  const text = readProperty(value, key);
  return typeof text === "string" && text !== "" ? text : undefined;
}
