import process from "node:process";

/** Node 22 says this once per process, to people who have chosen a store and not a driver. */
const SQLITE_IS_EXPERIMENTAL = "SQLite is an experimental feature";

/** Loads the driver of Node without the warning that it is experimental. Every other warning is passed on. */
export function loadQuietly<T>(load: () => T): T {
  const { emitWarning } = process;
  const own = Object.getOwnPropertyDescriptor(process, "emitWarning");
  process.emitWarning = ((...values: Parameters<typeof emitWarning>) => {
    const [warning] = values;
    const text = typeof warning === "string" ? warning : warning.message;
    if (!text.startsWith(SQLITE_IS_EXPERIMENTAL)) Reflect.apply(emitWarning, process, values);
  }) as typeof emitWarning;
  try {
    // At once, without a promise: nobody else's warning can come in between.
    return load();
  } finally {
    if (own) Object.defineProperty(process, "emitWarning", own);
    else Reflect.deleteProperty(process, "emitWarning");
  }
}
