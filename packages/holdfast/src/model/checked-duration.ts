/**
 * Durations that are literals in code, checked by the compiler with the rules of `durationToMs`. The value of a plain
 * `string` is not known at compile time; it is accepted, and checked when it is used.
 */
import type { DurationParts } from "./duration.ts";

type Digit = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | ".";
type Space = " " | "\t" | "\n";

interface UnitByName
  extends Record<"w" | "wk" | "wks" | "week" | "weeks", "weeks">,
    Record<"d" | "day" | "days", "days">,
    Record<"h" | "hr" | "hrs" | "hour" | "hours", "hours">,
    Record<"m" | "min" | "mins" | "minute" | "minutes", "minutes">,
    Record<"s" | "sec" | "secs" | "second" | "seconds", "seconds">,
    Record<"ms" | "msec" | "msecs" | "millisecond" | "milliseconds", "milliseconds"> {}

type TrimStart<S extends string> = S extends `${Space}${infer Rest}` ? TrimStart<Rest> : S;

/** `[number, what follows]` */
type TakeNumber<S extends string, Taken extends string = ""> = S extends `${infer C extends Digit}${infer Rest}`
  ? TakeNumber<Rest, `${Taken}${C}`>
  : [Taken, TrimStart<S>];

/** `[word, what follows]` */
type TakeWord<S extends string, Taken extends string = ""> = S extends `${infer C}${infer Rest}`
  ? C extends Digit | Space
    ? [Taken, TrimStart<S>]
    : TakeWord<Rest, `${Taken}${C}`>
  : [Taken, S];

/** Words in any case; a lone capital is refused. */
type UnitOf<W extends string> = W extends keyof UnitByName
  ? UnitByName[W]
  : W extends `${infer _First}${infer Rest}`
    ? Rest extends ""
      ? never
      : Lowercase<W> extends keyof UnitByName
        ? UnitByName[Lowercase<W>]
        : never
    : never;

type IsCount<N extends string> = N extends `${string}.` ? false : N extends `${number}` ? true : false;

type IsDurationText<S extends string, Seen = never> = S extends ""
  ? [Seen] extends [never]
    ? false
    : true
  : TakeNumber<S> extends [infer N extends string, infer AfterNumber extends string]
    ? IsCount<N> extends true
      ? TakeWord<AfterNumber> extends [infer W extends string, infer Rest extends string]
        ? [UnitOf<W>] extends [never]
          ? false
          : UnitOf<W> extends Seen
            ? false
            : IsDurationText<Rest, Seen | UnitOf<W>>
        : false
      : false
    : false;

/** `string` and patterns such as `${number}s` have values that are not known yet. */
type IsOpen<S extends string> = Record<never, never> extends Record<S, 1> ? true : false;

/** The texts that are not durations. */
type Faulty<S extends string> = S extends unknown
  ? IsOpen<S> extends true
    ? never
    : IsDurationText<TrimStart<S>> extends true
      ? never
      : S
  : never;

/** Appears in the type of a faulty text, for the compiler to mention. */
type Fault<S extends string> = `${S} is not a duration: write "30s", "2h 30m", "1 day" or { minutes: 5 }`;

/**
 * A `Duration` whose text, if the compiler knows it, must be valid: `"30s"`, `"2h 30m"`, `"1 day"`, `{ minutes: 5 }`. `S` is
 * the union of all texts in one call. It is inferred through a template, which accepts only texts.
 */
export type CheckedDuration<S extends string = string> =
  | ([Faulty<S>] extends [never] ? string : Exclude<`${S}`, Faulty<S>> | Fault<Faulty<S>>)
  | DurationParts;
