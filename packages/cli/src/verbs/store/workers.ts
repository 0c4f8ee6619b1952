import type { Client, WorkerEvent, WorkerPace, WorkerRow } from "holdfast";
import type { Call } from "../../command/call.ts";
import { given } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { statusColor } from "../../output/paint.ts";
import { redrawEvery } from "../../output/screen.ts";
import type { Column } from "../../output/table.ts";
import { relativeTime, stamp } from "../../output/times.ts";

const WATCH_MS = 2_000;
const EVENTS_DEFAULT = 50;

export const list: Action = async (call) => {
  const hf = await call.open();
  const show = async (): Promise<undefined> => {
    const rows = await hf.workers.list();
    const shown = rows.filter(({ status }) => status !== "offline" || call.flag("all"));
    showWorkers(call, shown);
    const gone = rows.length - shown.length;
    if (gone > 0 && !call.out.json) call.out.note(call.out.errorPaint.dim(`${gone} more have gone: --all shows them.`));
  };
  return call.flag("watch") ? redrawEvery(call, WATCH_MS, show) : show();
};

export function showWorkers(call: Pick<Call, "out" | "io">, workers: readonly WorkerRow[]): void {
  const { paint } = call.out;
  const now = call.io.now();
  const word = (worker: WorkerRow): string =>
    worker.status === "offline" ? (worker.died ? "died" : "offline") : worker.status;
  const columns: readonly Column<WorkerRow>[] = [
    { title: "WORKER", value: ({ name }) => name, cut: "middle", paint: (text) => paint.bold(text) },
    { title: "STATUS", value: word, paint: (text, row) => statusColor(paint, word(row), text) },
    { title: "RUNS", value: ({ activeRuns }) => String(activeRuns), align: "right" },
    { title: "TASKS", value: ({ activeTasks }) => String(activeTasks), align: "right" },
    { title: "HEARTBEAT", value: ({ heartbeatAt }) => relativeTime(heartbeatAt, now) },
    {
      title: "BUSY",
      value: ({ load }) => (load === null ? "" : `${Math.round(load.loopBusy * 100)} %`),
      align: "right",
      optional: true,
    },
    {
      title: "ATTEMPTS/MIN",
      value: ({ load }) => (load?.pace === undefined ? "" : perMinute(load.pace)),
      align: "right",
      optional: true,
    },
    { title: "QUEUES", value: ({ queues }) => queues.join(","), cut: "end" },
    { title: "WORKFLOWS", value: ({ workflows }) => workflows.join(","), cut: "end", optional: true },
    { title: "ID", value: ({ workerId }) => workerId, cut: "middle", paint: (text) => paint.dim(text) },
  ];
  call.out.table(workers, columns, "No worker is there. Start one with: holdfast worker <file>");
}

function perMinute({ attempts, overMs }: WorkerPace): string {
  return String(Math.round((attempts * 60_000) / Math.max(overMs, 1)));
}

export const events: Action = async (call) => {
  const hf = await call.open();
  const options = { limit: call.number("limit") ?? EVENTS_DEFAULT, ...given({ workerId: call.text("worker") }) };
  const page = await hf.workers.events(options);
  const { paint } = call.out;
  const columns: readonly Column<WorkerEvent>[] = [
    { title: "AT", value: ({ at }) => stamp(at) },
    { title: "EVENT", value: ({ type }) => type, paint: (text, { type }) => statusColor(paint, type, text) },
    { title: "WORKER", value: ({ name }) => name, cut: "middle" },
    { title: "ID", value: ({ workerId }) => workerId, cut: "middle", paint: (text) => paint.dim(text) },
  ];
  call.out.table(page.events, columns, "Nothing has happened to workers within the last 30 days.");
  return undefined;
};

export const drain: Action = async (call) => {
  const hf = await call.open();
  const workerId = await workerIdOf(hf, call.argument("worker-id"));
  await hf.workers.drain(workerId);
  call.out.done(`Asked ${call.out.paint.bold(workerId)} to drain; it does so with its next heartbeat`, {
    workerId,
    drainAsked: true,
  });
  return undefined;
};

/** A name will do if one live worker has it. */
async function workerIdOf(hf: Client, given: string): Promise<string> {
  const named = (await hf.workers.list()).filter(({ name, status }) => name === given && status !== "offline");
  const [only] = named;
  return named.length === 1 && only !== undefined ? only.workerId : given;
}
