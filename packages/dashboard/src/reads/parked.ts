/** Runs that stopped and need somebody: by cause. */
import type { RunSummary } from "holdfast";
import { COMPENSATE_PREFIX } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import type { Divergence, ParkedGroup, ParkedView } from "../api/operation-messages.ts";
import { errorLine, shownRows } from "./error-texts.ts";
import { namedRun } from "./named-run.ts";
import { wholeNumber } from "./query-values.ts";
import { type Ask, type Scope, storeNow } from "./scope.ts";

const SHOWN_PER_GROUP = 20;
const AROUND = 5;
const FAILED_SEEN_MAX = 500;

export async function parked({ scope, query }: Ask): Promise<ParkedView> {
  const { view } = scope;
  const limit = Math.max(1, wholeNumber(query, "limit", 200, 500));
  const [stopped, failed] = await Promise.all([
    view.list({ status: "parked", limit }),
    view.list({ status: ["failed", "canceled", "timed_out"], limit: FAILED_SEEN_MAX }),
  ]);
  const broken = failed.runs.filter(({ compensation }) => compensation === "compensation_failed");
  const groups = new Map<string, RunSummary[]>();
  for (const run of [...stopped.runs, ...broken]) {
    const key = `${run.workflow}\n${causeOf(run)}`;
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  const found = await Promise.all([...groups.values()].map((runs) => groupOf(scope, runs)));
  return {
    groups: found.sort((a, b) => b.count - a.count),
    seen: stopped.runs.length + broken.length,
    capped: stopped.cursor !== null,
    now: await storeNow(scope),
  };
}

function causeOf({ status, why }: RunSummary): string {
  if (status !== "parked") return "compensation_failed";
  return why.error?.code ?? why.error?.kind ?? "parked";
}

async function groupOf(scope: Scope, runs: readonly RunSummary[]): Promise<ParkedGroup> {
  const [first] = runs as [RunSummary];
  const cause = causeOf(first);
  const { workflow } = first;
  return {
    cause,
    workflow,
    count: runs.length,
    message: cause === "compensation_failed" ? await notUndone(scope, first) : await messageOf(scope, first),
    runs: await shownRows(scope, runs.slice(0, SHOWN_PER_GROUP)),
    filter: first.status === "parked" ? { workflow, status: "parked", error: cause } : null,
  };
}

async function messageOf({ view, values }: Scope, { runId }: RunSummary): Promise<string | null> {
  const example = await view
    .get({ runId })
    .describe()
    .catch(() => undefined);
  return example?.error ? values.error(example.error).message : null;
}

/** What the compensations failed on: why the run had failed before does not help with that. */
async function notUndone({ view, values }: Scope, { runId }: RunSummary): Promise<string | null> {
  const steps = await view
    .get({ runId })
    .steps()
    .catch(() => []);
  const told = steps.flatMap(({ op, status, error }) =>
    op.startsWith(COMPENSATE_PREFIX) && status === "failed" && error
      ? [`${op.slice(COMPENSATE_PREFIX.length)} was not undone: ${errorLine(error, values.error(error).message)}`]
      : [],
  );
  return told.length === 0 ? null : told.join("; ");
}

export async function divergence(ask: Ask): Promise<Divergence> {
  const { handle, run } = await namedRun(ask);
  const { error } = run;
  if (run.status !== "parked" || error?.code !== "replay_divergence")
    throw refusal(404, "not_found", `Run "${run.id}" is not parked for a divergence.`);
  const data = (error.data ?? {}) as Partial<DivergenceData>;
  const seq = typeof data.seq === "number" ? data.seq : null;
  const from = Math.max(0, (seq ?? 0) - AROUND);
  const window = await handle.history({ from, limit: 2 * AROUND + 1 });
  return {
    run: { runId: run.runId, id: run.id },
    error: ask.scope.values.error(error),
    seq,
    recorded: (data.recordedNotAsked ?? []).map(({ op, type, seq: at }) => `${op} (${type}, event ${at})`).join("\n"),
    asked: (data.askedNotRecorded ?? [])
      .map(({ op, kind, location }) => `${op} (${kind}${location === undefined ? "" : `, ${location}`})`)
      .join("\n"),
    events: window.map(({ seq: at, type, op }) => ({ seq: at, type, op })),
  };
}

/** What the engine keeps of a divergence. */
interface DivergenceData {
  readonly seq: number;
  readonly recordedNotAsked: readonly { readonly op: string; readonly type: string; readonly seq: number }[];
  readonly askedNotRecorded: readonly { readonly op: string; readonly kind: string; readonly location?: string }[];
}
