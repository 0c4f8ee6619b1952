/** `top`: what is going on in a namespace, on one screen. */
import type { Client, QueueView, Rate, RunSummary, WorkerRow } from "holdfast";
import type { Call } from "../../command/call.ts";
import { OPEN_STATUSES as OPEN } from "../../command/run-statuses.ts";
import type { Action } from "../../command/verb.ts";
import { statusColor } from "../../output/paint.ts";
import { redrawEvery } from "../../output/screen.ts";
import type { Column } from "../../output/table.ts";
import { relativeTime, shortDuration } from "../../output/times.ts";
import { showQueues } from "./queue.ts";
import { showWorkers } from "./workers.ts";

const EVERY_SECONDS = 2;
/** Rates are kept by the minute; the one that goes on is not full yet. */
const RATES_MS = 5 * 60_000;
const SHOWN = 5;
const COUNT_MAX = 10_000;

export interface Snapshot {
  readonly at: Date;
  readonly open: Readonly<Record<string, number>>;
  readonly rates: readonly WorkflowRate[];
  readonly queues: readonly QueueView[];
  readonly workers: readonly WorkerRow[];
  /** Open runs that were started longest ago, of those a worker holds or that are due. */
  readonly slowest: readonly RunSummary[];
  readonly failing: readonly RunSummary[];
}

export interface WorkflowRate {
  readonly workflow: string;
  readonly startedPerMinute: number;
  readonly endedPerMinute: number;
  readonly failedPerMinute: number;
  readonly retriedPerMinute: number;
}

export const top: Action = async (call) => {
  const hf = await call.open();
  const seconds = call.number("every") ?? EVERY_SECONDS;
  if (!call.out.isTerminal) {
    const snapshot = await look(call, hf);
    call.out.record(snapshot);
    if (!call.out.json) show(call, snapshot);
    return undefined;
  }
  return redrawEvery(call, seconds * 1_000, async () => {
    show(call, await look(call, hf));
    return undefined;
  });
};

export async function look(call: Call, hf: Client): Promise<Snapshot> {
  const now = call.io.now();
  const counts = await Promise.all(
    OPEN.map(async (status) => [status, await hf.count({ status, atMost: COUNT_MAX })] as const),
  );
  const [rates, queues, workers, running, failed, parked] = await Promise.all([
    hf.rates({ from: new Date(now - RATES_MS), to: new Date(now + 60_000) }),
    hf.queues.list(),
    hf.workers.list(),
    hf.list({ status: ["running", "compensating"], limit: 200 }),
    hf.list({ status: ["failed", "timed_out"], endedAfter: new Date(now - 3_600_000), limit: SHOWN }),
    hf.list({ status: "parked", limit: SHOWN }),
  ]);
  return {
    at: new Date(now),
    open: Object.fromEntries(counts),
    rates: ratesOf(rates),
    queues: queues.map((queue) => ({
      ...queue,
      runs: { ...queue.runs, holders: [] },
      tasks: { ...queue.tasks, holders: [] },
    })),
    workers: workers.filter(({ status }) => status !== "offline"),
    slowest: running.runs.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime()).slice(0, SHOWN),
    failing: [...parked.runs, ...failed.runs].slice(0, SHOWN),
  };
}

function ratesOf(rates: readonly Rate[]): WorkflowRate[] {
  const sums = new Map<string, { started: number; ended: number; failed: number; retried: number }>();
  for (const { workflow, started, ended, failed, retried } of rates) {
    const sum = sums.get(workflow) ?? { started: 0, ended: 0, failed: 0, retried: 0 };
    sums.set(workflow, {
      started: sum.started + started,
      ended: sum.ended + ended,
      failed: sum.failed + failed,
      retried: sum.retried + retried,
    });
  }
  const perMinute = (count: number): number => Math.round((count / (RATES_MS / 60_000)) * 10) / 10;
  return [...sums]
    .map(([workflow, sum]) => ({
      workflow,
      startedPerMinute: perMinute(sum.started),
      endedPerMinute: perMinute(sum.ended),
      failedPerMinute: perMinute(sum.failed),
      retriedPerMinute: perMinute(sum.retried),
    }))
    .sort((a, b) => b.startedPerMinute - a.startedPerMinute);
}

function show(call: Call, { at, open, rates, queues, workers, slowest, failing }: Snapshot): void {
  const { out } = call;
  const { paint } = out;
  const counts = Object.entries(open).filter(([, count]) => count > 0);
  const shown = counts.map(([status, count]) => `${statusColor(paint, status, String(count))} ${paint.dim(status)}`);
  out.line(
    `${paint.bold("holdfast top")}  ${paint.dim(at.toISOString().slice(11, 19))}  ${shown.length === 0 ? paint.dim("no open runs") : shown.join("  ")}`,
  );
  out.heading("Workers");
  showWorkers(call, workers);
  out.heading("Queues");
  showQueues(call, queues.toSorted((a, b) => b.runs.waiting - a.runs.waiting).slice(0, SHOWN));
  if (rates.length > 0) {
    out.heading("Workflows, per minute over the last five");
    out.table(rates.slice(0, SHOWN), rateColumns(paint.red), "");
  }
  if (slowest.length > 0) {
    out.heading("Running longest");
    out.table(slowest, runColumns(call), "");
  }
  if (failing.length > 0) {
    out.heading("Parked, or failed within the hour");
    out.table(failing, runColumns(call), "");
  }
}

function rateColumns(red: (text: string) => string): readonly Column<WorkflowRate>[] {
  return [
    { title: "WORKFLOW", value: ({ workflow }) => workflow, cut: "middle" },
    { title: "STARTED", value: ({ startedPerMinute }) => String(startedPerMinute), align: "right" },
    { title: "ENDED", value: ({ endedPerMinute }) => String(endedPerMinute), align: "right" },
    {
      title: "FAILED",
      value: ({ failedPerMinute }) => String(failedPerMinute),
      align: "right",
      paint: (text, { failedPerMinute }) => (failedPerMinute > 0 ? red(text) : text),
    },
    { title: "RETRIED", value: ({ retriedPerMinute }) => String(retriedPerMinute), align: "right" },
  ];
}

function runColumns(call: Call): readonly Column<RunSummary>[] {
  const { paint } = call.out;
  const now = call.io.now();
  return [
    { title: "ID", value: ({ id }) => id, cut: "middle", paint: (text) => paint.bold(text) },
    { title: "WORKFLOW", value: ({ workflow }) => workflow, cut: "end" },
    { title: "STATUS", value: ({ status }) => status, paint: (text, { status }) => statusColor(paint, status, text) },
    { title: "AGE", value: ({ createdAt }) => shortDuration(now - createdAt.getTime()) },
    { title: "LAST EVENT", value: ({ updatedAt }) => relativeTime(updatedAt, now) },
    { title: "WHY", value: ({ why }) => why.text, cut: "end" },
  ];
}
