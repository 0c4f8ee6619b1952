const DEPTH_MAX = 5;

/** The ops whose failure an error speaks of: its own, those of its causes, and those of its members. */
export function failedOps(error: unknown, depth = 0): string[] {
  if (typeof error !== "object" || error === null || depth > DEPTH_MAX) return [];
  const { op, cause, errors } = error as { readonly op?: unknown; readonly cause?: unknown; readonly errors?: unknown };
  const own = typeof op === "string" ? [op] : [];
  const members = Array.isArray(errors) ? errors.flatMap((member) => failedOps(member, depth + 1)) : [];
  return [...new Set([...own, ...failedOps(cause, depth + 1), ...members])];
}
