import type { Duration, ScheduleTimes } from "holdfast";
import type { Call } from "../../command/call.ts";
import { given, readTime, timeOf } from "../../command/values.ts";

/** When a schedule is due, as the options say. */
export function readTimes(call: Call): ScheduleTimes {
  const [cron, at] = [call.texts("cron"), call.texts("at")];
  const [every, jitter] = [call.text("every"), call.text("jitter")] as (Duration | undefined)[];
  const [from, until] = [readTime(call, "from", "ahead"), readTime(call, "until", "ahead")];
  const times = {
    cron: cron.length === 0 ? undefined : cron.length === 1 ? cron[0] : cron,
    at: at.length === 0 ? undefined : at.map((text) => timeOf(text, "--at", call.io.now(), "ahead")),
    every,
    timezone: call.text("timezone"),
    jitter,
    from,
    until,
  };
  return given(times) as ScheduleTimes;
}

/** The same in a few words. */
export function timesText({ cron, every, at, timezone }: ScheduleTimes): string {
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);
  const parts = [
    ...(cron === undefined ? [] : list(cron).map(String)),
    ...(every === undefined ? [] : [`every ${intervalText(every)}`]),
    ...(at === undefined
      ? []
      : [
          list(at)
            .map((time) => `at ${new Date(time as Date).toISOString()}`)
            .join(", "),
        ]),
  ];
  return `${parts.join("; ")}${timezone === undefined || timezone === "UTC" ? "" : ` (${timezone})`}`;
}

function intervalText(every: NonNullable<ScheduleTimes["every"]>): string {
  if (typeof every === "string") return every;
  if (typeof every === "object" && "every" in every) return intervalText((every as { every: never }).every);
  return Object.entries(every)
    .map(([unit, amount]) => `${amount} ${unit}`)
    .join(" ");
}
