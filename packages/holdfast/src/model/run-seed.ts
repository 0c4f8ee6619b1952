/**
 * The seed of a run: a text that no other run has, and that is kept with it from start to end. It is the run id, followed by the
 * trace context in which the run was started, if there was one: every worker that gets the run has both, and no store has to
 * know of the second.
 */

/** A W3C `traceparent`. */
const TRACE = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** What is no trace context is left out. */
export function seedOf(runId: string, trace: unknown): string {
  return typeof trace === "string" && TRACE.test(trace) ? `${runId} ${trace}` : runId;
}

/** The trace context in which the run was started. */
export function traceOf(seed: string): string | undefined {
  const space = seed.indexOf(" ");
  return space === -1 ? undefined : seed.slice(space + 1);
}
