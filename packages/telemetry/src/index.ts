export { OBSERVED_METRICS, type ObservedMetric, type ObserveOptions, type ObservingTelemetry } from "./observed.ts";
export { type OpenTelemetryOptions, openTelemetry } from "./open-telemetry.ts";
export { type PrometheusOptions, type PrometheusTelemetry, prometheus } from "./prometheus.ts";
