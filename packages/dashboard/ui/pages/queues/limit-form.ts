/** The limits of a queue as texts of a form, and back. All limits are set at once, so what the form does not show is kept. */

/** A duration, in any of the forms that the engine takes: `"1s"`, milliseconds, or `{ seconds: 1 }`. */
export type DurationView =
  | string
  | number
  | {
      readonly days?: number;
      readonly hours?: number;
      readonly minutes?: number;
      readonly seconds?: number;
      readonly milliseconds?: number;
    };

/** How often something may begin. */
export interface RateView {
  readonly limit: number;
  readonly per: DurationView;
  readonly burst?: number;
}

export interface PlaceView {
  readonly concurrency?: number;
  readonly rate?: RateView;
}

/** As `hf.queues.set` takes them. */
export interface LimitsView extends PlaceView {
  readonly perKey?: PlaceView;
  readonly fair?: boolean;
  readonly weights?: Readonly<Record<string, number>>;
  readonly backlog?: number;
  readonly aging?: DurationView;
}

export interface LimitTexts {
  readonly concurrency: string;
  readonly rate: string;
  readonly per: string;
  readonly burst: string;
  readonly keyConcurrency: string;
  readonly keyRate: string;
  readonly keyPer: string;
  readonly keyBurst: string;
  readonly backlog: string;
}

export type LimitProblems = Partial<Record<keyof LimitTexts, string>>;

export type ReadLimits = { readonly limits: LimitsView } | { readonly problems: LimitProblems };

const LIMIT_MAX = 1_000_000;
const DURATION = /^\d+(\.\d+)?\s*(ms|s|sec|m|min|h|d|day|days|hour|hours|minute|minutes|second|seconds)$/;

export function textsOf(limits: LimitsView): LimitTexts {
  const place = ({ concurrency, rate }: PlaceView) => ({
    concurrency: numberText(concurrency),
    rate: numberText(rate?.limit),
    per: rate === undefined ? "1s" : durationOf(rate.per),
    burst: numberText(rate?.burst),
  });
  const own = place(limits);
  const key = place(limits.perKey ?? {});
  return {
    ...own,
    keyConcurrency: key.concurrency,
    keyRate: key.rate,
    keyPer: key.per,
    keyBurst: key.burst,
    backlog: numberText(limits.backlog),
  };
}

/** The limits that the texts stand for. `before` gives what the form has no field for: weights, aging, fair. */
export function limitsOf(texts: LimitTexts, before: LimitsView): ReadLimits {
  const problems: LimitProblems = {};
  const count = (name: keyof LimitTexts, min: number): number | undefined => {
    const text = texts[name].trim();
    if (text === "") return undefined;
    const value = Number(text);
    if (Number.isInteger(value) && value >= min && value <= LIMIT_MAX) return value;
    problems[name] = `This must be a whole number from ${min} to ${LIMIT_MAX.toLocaleString("en-US")}.`;
    return undefined;
  };
  const rate = (limit: keyof LimitTexts, per: keyof LimitTexts, burst: keyof LimitTexts): RateView | undefined => {
    const most = count(limit, 1);
    const peak = count(burst, 1);
    if (texts[limit].trim() === "") return undefined;
    if (!DURATION.test(texts[per].trim())) problems[per] = "This must be a duration: 1s, 5m, 1h.";
    if (most === undefined) return undefined;
    return { limit: most, per: texts[per].trim(), ...(peak === undefined ? {} : { burst: peak }) };
  };
  const own = placeOf(count("concurrency", 0), rate("rate", "per", "burst"));
  const key = placeOf(count("keyConcurrency", 0), rate("keyRate", "keyPer", "keyBurst"));
  const backlog = count("backlog", 0);
  if (Object.keys(problems).length > 0) return { problems };
  const { fair, weights, aging } = before;
  return {
    limits: {
      ...own,
      ...(Object.keys(key).length > 0 ? { perKey: key } : {}),
      ...(fair === undefined ? {} : { fair }),
      ...(weights === undefined ? {} : { weights }),
      ...(backlog === undefined ? {} : { backlog }),
      ...(aging === undefined ? {} : { aging }),
    },
  };
}

/** In words: `10 at once`, `100 per 1s, bursts of 20`. Empty: there are none. */
export function describeLimits(limits: LimitsView): string[] {
  const { perKey, fair, weights, backlog, aging } = limits;
  const weighted = Object.keys(weights ?? {}).length;
  return [
    ...placeWords(limits),
    ...placeWords(perKey ?? {}).map((words) => `${words} for each key`),
    ...(backlog === undefined ? [] : [`at most ${backlog.toLocaleString("en-US")} waiting`]),
    ...(weighted > 0 ? [`weights for ${weighted} ${weighted === 1 ? "key" : "keys"}`] : []),
    ...(aging === undefined ? [] : [`one priority more for each ${durationOf(aging)} of waiting`]),
    ...(fair ? ["keys take turns"] : []),
  ];
}

/** What a change does, for the dialog; empty: it changes nothing. */
export function changesOf(before: LimitsView, after: LimitsView): string[] {
  const [old, young] = [describeLimits(before), describeLimits(after)];
  return [
    ...old.filter((words) => !young.includes(words)).map((words) => `No longer: ${words}`),
    ...young.filter((words) => !old.includes(words)).map((words) => `New: ${words}`),
  ];
}

function placeOf(concurrency: number | undefined, rate: RateView | undefined): PlaceView {
  return { ...(concurrency === undefined ? {} : { concurrency }), ...(rate === undefined ? {} : { rate }) };
}

function placeWords({ concurrency, rate }: PlaceView): string[] {
  const words: string[] = [];
  if (concurrency !== undefined) words.push(`${concurrency.toLocaleString("en-US")} at once`);
  if (rate) {
    const burst =
      rate.burst === undefined || rate.burst === rate.limit ? "" : `, bursts of ${rate.burst.toLocaleString("en-US")}`;
    words.push(`${rate.limit.toLocaleString("en-US")} per ${durationOf(rate.per)}${burst}`);
  }
  return words;
}

function numberText(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}

const UNITS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000, milliseconds: 1 } as const;

/** The largest unit that it is a whole number of. */
function durationOf(value: DurationView): string {
  if (typeof value === "string") return value;
  if (typeof value === "object")
    return durationOf(
      Object.entries(UNITS).reduce((sum, [unit, ms]) => sum + (value[unit as keyof typeof UNITS] ?? 0) * ms, 0),
    );
  for (const [unit, ms] of [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ] as const)
    if (value >= ms && value % ms === 0) return `${value / ms}${unit}`;
  return `${value}ms`;
}
