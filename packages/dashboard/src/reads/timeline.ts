/** The ops of a run as columns: 50,000 of them are a few hundred kilobytes, and no object for each. */
import type { RunDescription, StepView } from "holdfast";
import type { RunName } from "../api/list-messages.ts";
import type { Timeline } from "../api/run-messages.ts";
import { criticalPath } from "./critical-path.ts";
import { namedRun } from "./named-run.ts";
import { type OpEvents, opEvents } from "./op-events.ts";
import { wholeNumber } from "./query-values.ts";
import { type Ask, type Scope, storeNow } from "./scope.ts";

const STATUSES = ["running", "retrying", "waiting", "completed", "failed", "canceled"] as const;
/** A longer run is not read to tell what may follow in another one. */
const EXPECTED_EVENTS_MAX = 2_000;
const EXPECTED_MAX = 50;

export async function timeline(ask: Ask): Promise<Timeline> {
  const { scope, query } = ask;
  const { handle, run } = await namedRun(ask);
  const [steps, events] = await Promise.all([handle.steps(), opEvents(handle, `${scope.namespace} ${run.runId}`)]);
  const since = wholeNumber(query, "since", 0, Number.MAX_SAFE_INTEGER);
  const touched = (step: StepView): boolean =>
    since === 0 || isOpen(step) || (events.places.get(step.op)?.last ?? 0) >= since;
  return {
    ...columns(run, steps, events, touched),
    partial: since > 0,
    now: await storeNow(scope),
    expected: run.endedAt === null ? await expected(scope, run, steps) : [],
  };
}

function columns(
  run: RunDescription,
  steps: readonly StepView[],
  events: OpEvents,
  wanted: (step: StepView) => boolean,
): Omit<Timeline, "partial" | "now" | "expected"> {
  const shown = steps.filter(wanted);
  const indexes = new Map(shown.map(({ op }, index) => [op, index]));
  const zero = run.createdAt.getTime();
  const offset = (time: Date | undefined): number => (time === undefined ? -1 : time.getTime() - zero);
  const [kinds, workers, groups] = [new Names(), new Names(), new Names()];
  const place = (op: string) => events.places.get(op);
  const failures = events.failures.filter(({ op }) => indexes.has(op));
  const started = shown.flatMap(({ run: other, runs = [] }, index) =>
    [...(other ? [other] : []), ...runs].map((one): [number, Partial<RunName>] => [index, one]),
  );
  return {
    runId: run.runId,
    status: run.status,
    createdAt: zero,
    startedAt: run.startedAt?.getTime() ?? null,
    endedAt: run.endedAt?.getTime() ?? null,
    seq: run.historyLength,
    op: shown.map(({ op }) => op),
    kind: shown.map(({ kind }) => kinds.indexOf(kind)),
    state: shown.map(({ status }) => STATUSES.indexOf(status)),
    asked: shown.map(({ askedAt }) => offset(askedAt)),
    began: shown.map(({ startedAt }) => offset(startedAt)),
    ended: shown.map(({ endedAt }) => offset(endedAt)),
    due: shown.map((step) => (isOpen(step) ? offset(step.dueAt) : -1)),
    attempts: shown.map(({ attempts }) => attempts),
    after: shown.map(({ after = -1 }) => after),
    first: shown.map(({ op }) => place(op)?.first ?? -1),
    last: shown.map(({ op }) => place(op)?.last ?? -1),
    worker: shown.map(({ worker }) => (worker === undefined ? -1 : workers.indexOf(worker))),
    group: shown.map(({ group, branch }) =>
      group === undefined ? -1 : groups.indexOf(branch === undefined ? group : `${group}/${branch}`),
    ),
    kinds: kinds.list,
    statuses: STATUSES,
    workers: workers.list,
    groups: groups.list,
    failures: {
      of: failures.map(({ op }) => indexes.get(op) as number),
      began: failures.map(({ began }) => began - zero),
      ended: failures.map(({ ended }) => ended - zero),
      retry: failures.map(({ retry }) => (retry === null ? -1 : retry - zero)),
      seq: failures.map(({ seq }) => seq),
    },
    runs: { of: started.map(([index]) => index), run: started.map(([, one]) => one) },
    critical: criticalPath(
      shown.map(({ op, after = -1 }) => ({ after, last: place(op)?.last ?? -1 })),
      (seq) => indexes.get(events.opAt.get(seq) ?? ""),
    ),
  };
}

function isOpen({ status }: StepView): boolean {
  return status === "running" || status === "retrying" || status === "waiting";
}

/** Texts that come again and again, as numbers. */
class Names {
  readonly list: string[] = [];
  readonly #known = new Map<string, number>();

  indexOf(name: string): number {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    this.#known.set(name, this.list.length);
    this.list.push(name);
    return this.list.length - 1;
  }
}

/** What the newest run of the same code that completed had, and this one has not had yet. */
async function expected(
  { view }: Scope,
  run: RunDescription,
  steps: readonly StepView[],
): Promise<Timeline["expected"]> {
  const { workflow, version } = run;
  const { runs } = await view.list({ workflow, version, status: "completed", limit: 1 });
  const [model] = runs;
  if (!model || model.historyLength > EXPECTED_EVENTS_MAX) return [];
  const had = new Set(steps.map(({ op }) => op));
  const likely = (await view.get({ runId: model.runId }).steps()).filter(({ op }) => !had.has(op));
  return likely.slice(0, EXPECTED_MAX).map(({ op, startedAt, endedAt }) => ({
    op,
    ms: startedAt && endedAt ? endedAt.getTime() - startedAt.getTime() : 0,
  }));
}
