/**
 * The seed of a run: a text that is kept with it from start to end. It is the run id, followed by the trace context in which the run
 * was started, if there was one: every worker that gets the run has both, and no store has to know of the second. What the run draws
 * (`ctx.random`, `ctx.uuid`) comes of the first alone: tracing changes nothing that code can see. A fork has the seed of its origin, and
 * so its trace; a run that continues another, or that a schedule has started, has a trace of its own.
 */
import { isTraceContext } from "./trace-context.ts";

/** What is no trace context is left out. */
export function seedOf(runId: string, trace: unknown): string {
  return isTraceContext(trace) ? `${runId} ${trace}` : runId;
}

/** The trace context in which the run was started. */
export function traceOf(seed: string): string | undefined {
  const space = seed.indexOf(" ");
  return space === -1 ? undefined : seed.slice(space + 1);
}

/** What the run draws from. */
export function drawnFrom(seed: string): string {
  const space = seed.indexOf(" ");
  return space === -1 ? seed : seed.slice(0, space);
}
