/** The trace context of a call is kept with the run that it starts. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Interceptor } from "@connectrpc/connect";
import type { Telemetry } from "holdfast";

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const current = new AsyncLocalStorage<string>();

export const callTrace: Interceptor = (next) => (request) => {
  const trace = request.header.get("traceparent");
  return trace !== null && TRACEPARENT.test(trace) ? current.run(trace, () => next(request)) : next(request);
};

export const traceTelemetry: Telemetry = {
  count() {},
  duration() {},
  trace: () => current.getStore(),
};
