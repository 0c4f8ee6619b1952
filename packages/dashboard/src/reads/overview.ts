/** What is wrong, on one page. */
import type { Client, Rate, RunSummary } from "holdfast";
import { type ErrorRecord, OPEN_STATUSES } from "holdfast/adapter";
import type {
  CountedState,
  Facets,
  FailureGroup,
  Overview,
  RateColumns,
  RunStatus,
  WorkflowRates,
} from "../api/list-messages.ts";
import { errorsOf } from "./error-texts.ts";
import { OPEN_WALKED_MAX, openRuns } from "./open-runs.ts";
import { wholeNumber } from "./query-values.ts";
import { type Ask, type Scope, storeNow } from "./scope.ts";

const MINUTE_MS = 60_000;
const COUNT_MAX = 1_000;
/** Where too many runs are open to count them by state, so many of the newest are. */
const OPEN_SEEN_MAX = 1_000;
const FAILED_SEEN_MAX = 500;
const GROUPS_MAX = 20;
/** Errors without a code are told apart by what they say: of so many runs that is read. */
const READ_MAX = 100;
const WORKFLOWS_MAX = 20;
const NEXT_SCHEDULES = 5;
const SAMPLE = 500;

export async function overview({ scope, query }: Ask): Promise<Overview> {
  const { view } = scope;
  const now = await storeNow(scope);
  const minutes = Math.max(1, wholeNumber(query, "minutes", 60, 1_440));
  const to = new Date((Math.floor(now / MINUTE_MS) + 1) * MINUTE_MS);
  const from = new Date(to.getTime() - minutes * MINUTE_MS);
  const [rates, counts, health, failed, schedules] = await Promise.all([
    view.rates({ from, to }),
    countsOf(scope),
    view.health(),
    view.list({ status: ["failed", "timed_out"], endedAfter: from, limit: FAILED_SEEN_MAX }),
    nextSchedules(view),
  ]);
  const healthOf = (state: string): number => health.workers.filter((worker) => worker.health === state).length;
  return {
    now,
    rates: rateColumns(rates, from.getTime(), minutes),
    workflows: byWorkflow(rates),
    counts: counts.counts,
    countedOf: counts.countedOf,
    atMost: COUNT_MAX,
    queues: health.queues.map(({ name, health: state, runs, tasks }) => ({
      name,
      waiting: runs.waiting + tasks.waiting,
      oldestDueAt: earliest(runs.oldestDueAt, tasks.oldestDueAt),
      health: state,
    })),
    workers: { healthy: healthOf("healthy"), degraded: healthOf("degraded"), unhealthy: healthOf("unhealthy") },
    health: { status: health.status, reasons: health.reasons },
    failures: await failureGroups(scope, failed.runs),
    failuresSeen: failed.runs.length,
    failuresCapped: failed.cursor !== null,
    schedules,
  };
}

const FEW: readonly CountedState[] = ["parked", "compensating", "failed"];
const MANY: readonly CountedState[] = ["pending", "running", "sleeping", "waiting", "retrying"];

/** No store finds all open runs of a state by an index. While few runs are open they are counted; otherwise the newest of them. */
async function countsOf(scope: Scope): Promise<Pick<Overview, "counts" | "countedOf">> {
  const { view } = scope;
  const open = await openRuns(scope);
  const exact = open < OPEN_WALKED_MAX ? [...FEW, ...MANY] : FEW;
  const [found, newest] = await Promise.all([
    Promise.all(exact.map((state) => view.count({ atMost: COUNT_MAX, ...filterOf(state) }))),
    exact === FEW ? view.list({ status: OPEN_STATUSES, limit: OPEN_SEEN_MAX }) : undefined,
  ]);
  const counts = Object.fromEntries(exact.map((state, index) => [state, found[index] ?? 0]));
  if (newest) for (const state of MANY) counts[state] = newest.runs.filter((run) => isIn(run, state)).length;
  return { counts: counts as Overview["counts"], countedOf: newest ? newest.runs.length : null };
}

function filterOf(state: CountedState): { readonly retrying: true } | { readonly status: RunStatus } {
  return state === "retrying" ? { retrying: true } : { status: state };
}

function isIn({ status, why }: RunSummary, state: CountedState): boolean {
  return state === "retrying" ? why.kind === "backoff" : status === state;
}

/** One entry for each minute, also for those in which nothing happened. */
export function rateColumns(rates: readonly Rate[], from: number, minutes: number): RateColumns {
  const empty = (): number[] => Array.from({ length: minutes }, () => 0);
  const made = { started: empty(), ended: empty(), failed: empty(), retried: empty() };
  for (const rate of rates) {
    const at = Math.floor((rate.from.getTime() - from) / MINUTE_MS);
    if (at < 0 || at >= minutes) continue;
    for (const name of ["started", "ended", "failed", "retried"] as const)
      made[name][at] = (made[name][at] as number) + rate[name];
  }
  return { from: made.started.map((_, index) => from + index * MINUTE_MS), ...made };
}

export function byWorkflow(rates: readonly Rate[]): WorkflowRates[] {
  const sums = new Map<string, WorkflowRates>();
  for (const { workflow, started, ended, failed, retried } of rates) {
    const known = sums.get(workflow) ?? { workflow, started: 0, ended: 0, failed: 0, retried: 0 };
    sums.set(workflow, {
      workflow,
      started: known.started + started,
      ended: known.ended + ended,
      failed: known.failed + failed,
      retried: known.retried + retried,
    });
  }
  const busiest = [...sums.values()].sort((a, b) => b.started + b.ended - a.started - a.ended);
  return busiest.slice(0, WORKFLOWS_MAX);
}

/** A list does not say which op a run failed in: one run of each group does. */
async function failureGroups(scope: Scope, runs: readonly RunSummary[]): Promise<FailureGroup[]> {
  const unnamed = runs.filter(({ why }) => why.error && why.error.code === undefined).slice(0, READ_MAX);
  const errors = await errorsOf(
    scope,
    unnamed.map(({ runId }) => runId),
  );
  const groups = new Map<string, RunSummary[]>();
  for (const run of runs) {
    const read = errors.get(run.runId);
    const { code, kind } = run.why.error ?? {};
    const key = JSON.stringify([run.workflow, run.status, code ?? (read ? fingerprint(read) : kind)]);
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  const largest = [...groups.values()].sort((a, b) => b.length - a.length).slice(0, GROUPS_MAX);
  return Promise.all(largest.map((ones) => failureGroup(scope, ones)));
}

/** Errors that differ only in numbers are the same one. */
function fingerprint({ op = "", name, message }: ErrorRecord): string {
  const [line = ""] = message.split("\n", 1);
  return `${op} ${name} ${line.replace(/\d+/g, "0")}`;
}

async function failureGroup({ view, values }: Scope, ones: readonly RunSummary[]): Promise<FailureGroup> {
  const [{ runId, id, workflow, why, status }] = ones as [RunSummary];
  const example = await view
    .get({ runId })
    .describe()
    .catch(() => undefined);
  const error = example?.error ? values.error(example.error) : undefined;
  return {
    workflow,
    status,
    op: error?.op ?? null,
    error: why.error?.code ?? error?.name ?? why.error?.kind ?? status,
    filter: why.error?.code ?? why.error?.kind ?? null,
    message: error?.message ?? null,
    count: ones.length,
    lastAt: Math.max(...ones.map(({ updatedAt }) => updatedAt.getTime())),
    example: { runId, id },
  };
}

async function nextSchedules(view: Client): Promise<Overview["schedules"]> {
  const { schedules } = await view.schedules.list({ limit: 1_000 });
  return schedules
    .flatMap(({ id, workflow, nextAt }) => (nextAt ? [{ id, workflow, at: nextAt.getTime() }] : []))
    .sort((a, b) => a.at - b.at)
    .slice(0, NEXT_SCHEDULES);
}

function earliest(a: Date | null, b: Date | null): number | null {
  const times = [a, b].flatMap((time) => (time ? [time.getTime()] : []));
  return times.length === 0 ? null : Math.min(...times);
}

const STATUSES: readonly RunStatus[] = [
  "pending",
  "running",
  "sleeping",
  "waiting",
  "compensating",
  "parked",
  "completed",
  "failed",
  "canceled",
  "terminated",
  "timed_out",
  "continued",
  "moved",
];

export async function facets({ scope: { view } }: Ask): Promise<Facets> {
  const [versions, queues, sample] = await Promise.all([
    view.versions.list(),
    view.queues.list(),
    view.list({ limit: SAMPLE }),
  ]);
  const { runs } = sample;
  const byName = new Map<string, Set<string>>();
  const add = (workflow: string, version: string): void => {
    byName.set(workflow, (byName.get(workflow) ?? new Set<string>()).add(version));
  };
  for (const { workflow, version } of [...versions, ...runs]) add(workflow, version);
  const attributes = new Map<string, Set<unknown>>();
  for (const run of runs)
    for (const [name, value] of Object.entries(JSON.parse(JSON.stringify(run.attributes)) as object)) {
      const known = attributes.get(name) ?? new Set<unknown>();
      if (known.size < 20) attributes.set(name, known.add(value));
    }
  const names = [...byName.keys()].sort();
  const texts = (found: readonly (string | undefined)[]): string[] =>
    [...new Set(found.filter((one) => one !== undefined))].sort();
  return {
    workflows: names,
    versions: Object.fromEntries(names.map((name) => [name, [...(byName.get(name) ?? [])].sort()])),
    queues: texts([...queues.map(({ name }) => name), ...runs.map(({ queue }) => queue)]),
    statuses: STATUSES,
    attributes: Object.fromEntries([...attributes].map(([name, found]) => [name, [...found]])) as Facets["attributes"],
    errors: texts(runs.map(({ why }) => why.error?.code ?? why.error?.kind)),
    waitingFor: texts(runs.flatMap(({ waitingFor }) => waitingFor)).slice(0, 100),
  };
}
