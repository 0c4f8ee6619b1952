import {
  COUNT_METRICS,
  type CountMetric,
  DURATION_METRICS,
  type DurationMetric,
  LEVEL_METRICS,
  type LevelMetric,
  type MetricAbout,
  type Telemetry,
} from "holdfast";
import { Counter, Gauge, Histogram, type Metric, Registry } from "prom-client";
import { BoundedLabels } from "./bounded-labels.ts";
import { BUCKETS } from "./buckets.ts";

/** Where metrics for Prometheus are, and what they are called. */
export interface PrometheusOptions {
  /**
   * Where the metrics are registered: the registry of your own metrics, for example, so that one page has them all.
   * @defaultValue a registry of its own
   */
  readonly register?: Registry;
  /**
   * What the name of every metric begins with.
   * @defaultValue `"holdfast_"`
   */
  readonly prefix?: string;
}

/** For `connect(url, { telemetry })`, and for the page that Prometheus reads. */
export interface PrometheusTelemetry extends Telemetry {
  /** The text of all metrics of the registry. */
  metrics(): Promise<string>;
  /** The type of that text, for the header `Content-Type`. */
  readonly contentType: string;
}

/**
 * Metrics for Prometheus: counters `holdfast_<metric>_total`, histograms `holdfast_<metric>_seconds`, and gauges
 * `holdfast_<metric>`. Ids of runs are never labels, and no label has more than 500 values: the others are `other`.
 */
export function prometheus(options: PrometheusOptions = {}): PrometheusTelemetry {
  const { register = new Registry(), prefix = "holdfast_" } = options;
  const labels = new BoundedLabels();
  const settings = (name: string, { about, labels: labelNames }: MetricAbout) => ({
    name: `${prefix}${name}`,
    help: about,
    labelNames,
    registers: [register],
  });
  // A registry that has them already is shared with another client.
  const found = <M extends Metric>(name: string, make: () => M): M =>
    (register.getSingleMetric(`${prefix}${name}`) as M | undefined) ?? make();
  const counters = tableOf<CountMetric, Counter>(COUNT_METRICS, (metric, about) => {
    const name = `${metric}_total`;
    return found(name, () => new Counter(settings(name, about)));
  });
  const histograms = tableOf<DurationMetric, Histogram>(DURATION_METRICS, (metric, about) => {
    const name = `${metric}_seconds`;
    return found(name, () => new Histogram({ ...settings(name, about), buckets: [...BUCKETS[metric]] }));
  });
  const gauges = tableOf<LevelMetric, Gauge>(LEVEL_METRICS, (metric, about) =>
    found(metric, () => new Gauge(settings(metric, about))),
  );
  return {
    count: (metric, times, given) => counters[metric].inc(labels.bound(given), times),
    duration: (metric, ms, given) => histograms[metric].observe(labels.bound(given), ms / 1_000),
    level: (metric, value, given) => gauges[metric].set(labels.bound(given), value),
    metrics: () => register.metrics(),
    get contentType() {
      return register.contentType;
    },
  };
}

function tableOf<K extends string, M>(
  metrics: Readonly<Record<K, MetricAbout>>,
  make: (metric: K, about: MetricAbout) => M,
): Readonly<Record<K, M>> {
  const entries = Object.entries<MetricAbout>(metrics).map(([metric, about]) => [metric, make(metric as K, about)]);
  return Object.fromEntries(entries) as Record<K, M>;
}
