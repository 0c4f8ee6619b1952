import type { Client, Duration, KeyOptions, QueueOptions, QueueRate, QueueView } from "holdfast";
import type { Call } from "../../command/call.ts";
import { given } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";
import { redrawEvery } from "../../output/screen.ts";
import type { Column } from "../../output/table.ts";
import { relativeTime, shortDuration } from "../../output/times.ts";

const WATCH_MS = 2_000;

export const list: Action = async (call) => {
  const hf = await call.open();
  const show = async (): Promise<undefined> => showQueues(call, await hf.queues.list());
  return call.flag("watch") ? redrawEvery(call, WATCH_MS, show) : show();
};

export function showQueues(call: Pick<Call, "out" | "io">, queues: readonly QueueView[]): undefined {
  const { paint } = call.out;
  const now = call.io.now();
  const oldest = ({ runs, tasks }: QueueView): string => {
    const [first] = [runs.oldestDueAt, tasks.oldestDueAt].filter((at) => at !== null).sort((a, b) => +a - +b);
    return relativeTime(first, now);
  };
  const columns: readonly Column<QueueView>[] = [
    { title: "QUEUE", value: ({ name }) => name, cut: "middle", paint: (text) => paint.bold(text) },
    { title: "WAITING", value: ({ runs }) => String(runs.waiting), align: "right" },
    { title: "RUNNING", value: ({ runs }) => String(runs.running), align: "right" },
    { title: "TASKS WAITING", value: ({ tasks }) => String(tasks.waiting), align: "right" },
    { title: "TASKS RUNNING", value: ({ tasks }) => String(tasks.running), align: "right" },
    { title: "OLDEST DUE", value: oldest, optional: true },
    { title: "LIMITS", value: ({ limits }) => limitsText(limits), cut: "end", optional: true },
  ];
  call.out.table(queues, columns, "There are no queues yet: a queue is there once a run or a task was in it.");
  return undefined;
}

function limitsText({ perKey, fair, backlog, aging, weights, ...own }: QueueOptions): string {
  return [
    ...placeText(own, ""),
    ...placeText(perKey ?? {}, " per key"),
    ...(fair === true ? ["fair"] : []),
    ...(weights === undefined ? [] : [`${Object.keys(weights).length} weights`]),
    ...(backlog === undefined ? [] : [`backlog ${backlog}`]),
    ...(aging === undefined ? [] : [`aging ${durationText(aging)}`]),
  ].join(", ");
}

function placeText({ concurrency, rate }: KeyOptions, suffix: string): string[] {
  return [
    ...(concurrency === undefined ? [] : [`${concurrency} at once${suffix}`]),
    ...(rate === undefined ? [] : [`${rate.limit} per ${durationText(rate.per)}${suffix}`]),
  ];
}

/** The core shows durations in milliseconds. */
function durationText(duration: Duration): string {
  const { milliseconds } = duration as { readonly milliseconds?: number };
  return milliseconds === undefined ? String(duration) : shortDuration(milliseconds);
}

export const set: Action = async (call) => {
  const name = call.argument("name");
  const options = readLimits(call);
  const hf = await call.open({ create: "empty" });
  await hf.queues.set(name, options);
  return report(call, hf, name);
};

async function report(call: Call, hf: Client, name: string): Promise<undefined> {
  const limits = (await hf.queues.list()).find((queue) => queue.name === name)?.limits ?? {};
  const text = limitsText(limits);
  call.out.done(`${call.out.paint.bold(name)}: ${text === "" ? "no limits" : text}`, { name, limits });
  return undefined;
}

function readLimits(call: Call): QueueOptions {
  const weights = call.texts("weight").map((text): [string, number] => {
    const at = text.lastIndexOf("=");
    if (at < 1) throw new UsageError(`--weight is "${text}"; write it as key=number.`);
    return [text.slice(0, at), Number(text.slice(at + 1))];
  });
  const perKey = given({ concurrency: call.number("per-key-concurrency", 0), rate: readRate(call, "per-key-rate") });
  return given({
    concurrency: call.number("concurrency", 0),
    rate: readRate(call, "rate", call.number("burst")),
    perKey: Object.keys(perKey).length === 0 ? undefined : perKey,
    fair: call.flag("fair") || undefined,
    weights: weights.length === 0 ? undefined : Object.fromEntries(weights),
    backlog: call.number("backlog", 0),
    aging: call.text("aging") as Duration | undefined,
  }) as QueueOptions;
}

function readRate(call: Call, name: string, burst?: number): QueueRate | undefined {
  const text = call.text(name);
  if (text === undefined) return undefined;
  const [, limit, per] = /^(\d+)\/(.+)$/.exec(text) ?? [];
  if (limit === undefined || per === undefined)
    throw new UsageError(`--${name} is "${text}"; write it as 100/1m: so many, in so much time.`);
  return { limit: Number(limit), per: /^[a-z]+$/.test(per) ? `1 ${per}` : per, ...given({ burst }) } as QueueRate;
}
