/**
 * A trace context as one text: a W3C `traceparent`, followed by a space and the `tracestate` if there is one. It is kept with runs,
 * tasks and signals, and no store has to know of it.
 */

/** The headers of a request that carry a trace context, as the W3C has named them. Both may be absent. */
export interface TraceHeaders {
  /** `00-<trace id>-<span id>-<flags>`. */
  readonly traceparent?: string;
  /** What tracing systems add to it: `vendor=value,…`. */
  readonly tracestate?: string;
}

const PARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;
const PARENT_LENGTH = 55;
/** Printable ASCII; longer ones may be left out, and are. */
const STATE = /^[\x20-\x7e]{1,512}$/;

const NO_HEADERS: TraceHeaders = {};

/** As the W3C wants it: what is no `traceparent` counts as none, and a bad `tracestate` alone is left out. */
export function traceContext({ traceparent, tracestate }: TraceHeaders): string | undefined {
  const parent = traceparent?.trim();
  if (parent === undefined || !PARENT.test(parent)) return undefined;
  const state = tracestate?.trim();
  return state !== undefined && STATE.test(state) ? `${parent} ${state}` : parent;
}

/** The headers that say the same; none for what is no trace context. */
export function traceHeaders(trace: string | undefined): TraceHeaders {
  if (trace === undefined) return NO_HEADERS;
  const traceparent = trace.slice(0, PARENT_LENGTH);
  const tracestate = trace.slice(PARENT_LENGTH + 1);
  return tracestate === "" ? { traceparent } : { traceparent, tracestate };
}

/** Whether it is one, as `traceContext` makes them. */
export function isTraceContext(trace: unknown): trace is string {
  return typeof trace === "string" && traceContext(traceHeaders(trace)) === trace;
}

/** Signals carry it behind their names in the inbox: no name has a tab. The `tracestate` is left out. */
export function tracedName(name: string, trace: unknown): string {
  return isTraceContext(trace) ? `${name}\t${trace.slice(0, PARENT_LENGTH)}` : name;
}

/** The name of a signal in the inbox, and the trace context in which it was sent. */
export function splitName(traced: string): { readonly name: string; readonly trace?: string } {
  const tab = traced.indexOf("\t");
  return tab === -1 ? { name: traced } : { name: traced.slice(0, tab), trace: traced.slice(tab + 1) };
}
