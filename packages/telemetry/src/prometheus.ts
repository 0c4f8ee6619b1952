import {
  type Client,
  COUNT_METRICS,
  type CountMetric,
  DURATION_METRICS,
  type DurationMetric,
  LEVEL_METRICS,
  type LevelMetric,
  type MetricAbout,
} from "holdfast";
import { checkOptions, invalidOption, type OptionCheck, objectWith } from "holdfast/adapter";
import { Counter, Gauge, Histogram, type Metric, Registry } from "prom-client";
import { BoundedLabels } from "./bounded-labels.ts";
import { BUCKETS } from "./buckets.ts";
import {
  OBSERVED_METRICS,
  type ObservedMetric,
  type ObserveOptions,
  type ObservingTelemetry,
  observer,
} from "./observed.ts";

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
export interface PrometheusTelemetry extends ObservingTelemetry {
  /** The text of all metrics of the registry. */
  metrics(): Promise<string>;
  /** The type of that text, for the header `Content-Type`. */
  readonly contentType: string;
}

const WHERE = "prometheus";

const isPrefix: OptionCheck = (value, where, option) => {
  if (typeof value === "string" && /^(?:[A-Za-z_:][\w:]*)?$/.test(value)) return;
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  throw invalidOption(
    where,
    option,
    `is ${shown}; names of metrics have letters, digits, _ and :, and begin with no digit`,
  );
};

/**
 * Metrics for Prometheus: counters `holdfast_<metric>_total`, histograms `holdfast_<metric>_seconds`, and gauges
 * `holdfast_<metric>`. Ids of runs are never labels, and no label has more than 500 values: the others are `other`.
 */
export function prometheus(options: PrometheusOptions = {}): PrometheusTelemetry {
  const isRegister = objectWith("registerMetric", "getSingleMetric", "metrics");
  checkOptions<PrometheusOptions>(options, { register: isRegister, prefix: isPrefix }, WHERE);
  const { register = new Registry(), prefix = "holdfast_" } = options;
  const labels = new BoundedLabels();
  const made = <M extends Metric>(kind: MetricKind<M>, name: string, about: MetricAbout, more?: object): M =>
    foundOrMade(register, kind, { name: `${prefix}${name}`, help: about.about, labelNames: about.labels, ...more });
  const counters = tableOf<CountMetric, Counter>(COUNT_METRICS, (metric, about) => {
    const counter = made(Counter, `${metric}_total`, about);
    // A series that begins with its first event has had no increase, as Prometheus sees it.
    for (const value of about.values ?? []) counter.inc({ [about.labels[0] as string]: value }, 0);
    return counter;
  });
  const histograms = tableOf<DurationMetric, Histogram>(DURATION_METRICS, (metric, about) =>
    made(Histogram, `${metric}_seconds`, about, { buckets: [...BUCKETS[metric]] }),
  );
  const gauges = tableOf<LevelMetric, Gauge>(LEVEL_METRICS, (metric, about) => made(Gauge, metric, about));
  const observed = new Observed(() =>
    tableOf<ObservedMetric, Gauge>(OBSERVED_METRICS, (metric, about) =>
      made(Gauge, metric, about, { collect: () => observed.collect() }),
    ),
  );
  return {
    count: (metric, times, given) => counters[metric].inc(labels.bound(given), times),
    duration: (metric, ms, given) => histograms[metric].observe(labels.bound(given), ms / 1_000),
    level: (metric, value, given) => gauges[metric].set(labels.bound(given), value),
    observe: (hf, options) => observed.add(hf, options),
    metrics: () => register.metrics(),
    get contentType() {
      return register.contentType;
    },
  };
}

/** The gauges that are filled when the registry is read, for all clients that are observed. */
class Observed {
  readonly #make: () => Readonly<Record<ObservedMetric, Gauge>>;
  readonly #clients = new Map<Client, ReturnType<typeof observer>>();
  #gauges: Readonly<Record<ObservedMetric, Gauge>> | undefined;
  #collecting: Promise<void> | undefined;

  constructor(make: () => Readonly<Record<ObservedMetric, Gauge>>) {
    this.#make = make;
  }

  add(hf: Client, options?: ObserveOptions): void {
    const observe = observer(hf, options);
    this.#gauges ??= this.#make();
    if (!this.#clients.has(hf)) this.#clients.set(hf, observe);
  }

  /** Whoever reads the registry asks each gauge, all at the same time: they share one answer. */
  collect(): Promise<void> {
    this.#collecting ??= this.#collect().finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  async #collect(): Promise<void> {
    const found = (await Promise.all([...this.#clients.values()].map((observe) => observe()))).flat();
    if (!this.#gauges) return;
    // What is gone (a queue, a schedule that works again) has no value.
    for (const gauge of Object.values(this.#gauges)) gauge.reset();
    for (const { metric, value, labels } of found) this.#gauges[metric].set(labels, value);
  }
}

interface MetricSettings {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

type MetricKind<M> = new (settings: MetricSettings & { readonly registers: Registry[] }) => M;

/** A registry that has it already is shared with another client; or the application has a metric of that name. */
function foundOrMade<M extends Metric>(register: Registry, kind: MetricKind<M>, settings: MetricSettings): M {
  const { name, labelNames } = settings;
  const found = register.getSingleMetric(name) as (Metric & { readonly labelNames?: readonly string[] }) | undefined;
  if (!found) return new kind({ ...settings, registers: [register] });
  const same = found.constructor.name === kind.name && labelNames.every((label) => found.labelNames?.includes(label));
  if (same) return found as unknown as M;
  const fault = `has another metric ${JSON.stringify(name)}, which is not Holdfast's: choose another \`prefix\``;
  throw invalidOption(WHERE, "register", fault);
}

function tableOf<K extends string, M>(
  metrics: Readonly<Record<K, MetricAbout>>,
  make: (metric: K, about: MetricAbout) => M,
): Readonly<Record<K, M>> {
  const entries = Object.entries<MetricAbout>(metrics).map(([metric, about]) => [metric, make(metric as K, about)]);
  return Object.fromEntries(entries) as Record<K, M>;
}
