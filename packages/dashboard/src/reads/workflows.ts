import type { Rate, StepView, VersionRow as StoredVersion, WorkerRow } from "holdfast";
import type { RunStatus } from "../api/list-messages.ts";
import type { VersionRow, WorkflowPage, WorkflowRow, WorkflowsView } from "../api/operation-messages.ts";
import { shownRows } from "./error-texts.ts";
import { lengthOf } from "./op-summary.ts";
import { byWorkflow, rateColumns } from "./overview.ts";
import { type Ask, type Scope, storeNow } from "./scope.ts";
import { BRIEF_CHARACTERS } from "./shown-value.ts";

const HOUR_MS = 3_600_000;
const OPEN_COUNT_MAX = 1_000;
const SAMPLE = 50;
const SAMPLE_EVENTS_MAX = 2_000;
const OPEN: readonly RunStatus[] = ["pending", "running", "sleeping", "waiting", "compensating", "parked"];

export async function workflows({ scope }: Ask): Promise<WorkflowsView> {
  const now = await storeNow(scope);
  const [versions, workers, rates] = await Promise.all([
    scope.view.versions.list(),
    scope.view.workers.list(),
    lastHour(scope, now),
  ]);
  const names = [...new Set(versions.map(({ workflow }) => workflow))].sort();
  const rows = await Promise.all(names.map((name) => workflowRow(scope, name, versions, workers, rates, now)));
  return { workflows: rows, now };
}

function lastHour({ view }: Scope, now: number, workflow?: string): Promise<Rate[]> {
  const to = new Date((Math.floor(now / 60_000) + 1) * 60_000);
  const from = new Date(to.getTime() - HOUR_MS);
  return view.rates({ from, to, ...(workflow === undefined ? {} : { workflow }) });
}

async function workflowRow(
  scope: Scope,
  name: string,
  versions: readonly StoredVersion[],
  workers: readonly WorkerRow[],
  rates: readonly Rate[],
  now: number,
): Promise<WorkflowRow> {
  const own = versions.filter(({ workflow }) => workflow === name);
  const sums = byWorkflow(rates.filter(({ workflow }) => workflow === name))[0];
  return {
    name,
    versions: await Promise.all(own.map((one) => versionRow(scope, one, workers, now))),
    started: sums?.started ?? 0,
    ended: sums?.ended ?? 0,
    failed: sums?.failed ?? 0,
  };
}

async function versionRow(
  { view }: Scope,
  one: StoredVersion,
  workers: readonly WorkerRow[],
  now: number,
): Promise<VersionRow> {
  const { workflow, version, hash, isDefault, share, deprecated, registeredAt } = one;
  const openRuns = await view.count({ workflow, version, status: OPEN, atMost: OPEN_COUNT_MAX });
  const offering = workers.filter(
    ({ status, leaseExpiresAt, workflows: offered }) =>
      status !== "offline" && leaseExpiresAt > now && offered.includes(`${workflow}@${version}`),
  );
  return {
    version,
    hash,
    isDefault,
    share,
    deprecated,
    registeredAt,
    openRuns,
    openCapped: openRuns >= OPEN_COUNT_MAX,
    workers: offering.length,
    safeToRemove: openRuns === 0 && !isDefault && share === 0,
  };
}

export async function workflow({ scope, parts }: Ask): Promise<WorkflowPage> {
  const { view, values, namespace, store } = scope;
  const name = parts["name"] as string;
  const now = await storeNow(scope);
  const [versions, workers, rates, recent, ended] = await Promise.all([
    view.versions.list(name),
    view.workers.list(),
    lastHour(scope, now, name),
    view.list({ workflow: name, limit: 20 }),
    view.list({ workflow: name, status: ["completed", "failed"], limit: SAMPLE }),
  ]);
  const samples = await Promise.all(
    ended.runs
      .filter(({ historyLength }) => historyLength <= SAMPLE_EVENTS_MAX)
      .map(({ runId }) => view.get({ runId }).steps()),
  );
  const known = store.workflows().find((one) => one.name === name) as KnownWorkflow | undefined;
  const [newest] = recent.runs;
  const described = newest && (await view.get({ runId: newest.runId }).describe());
  const sample = values.show(described?.input, { namespace, workflow: name, what: "input" }, BRIEF_CHARACTERS);
  const waited = recent.runs.flatMap(({ waitingFor }) => waitingFor);
  const received = samples.flat().map(({ op }) => op);
  const to = (Math.floor(now / 60_000) + 1) * 60_000;
  return {
    workflow: await workflowRow(scope, name, versions, workers, rates, now),
    inputSchema: schemaOf(known),
    sampleInput: sample.form === "json" && !sample.truncated ? sample.text : null,
    signals: namesOf(known?.offers?.signal, [...waited, ...received], "receive:"),
    updates: namesOf(known?.offers?.update, received, "update:"),
    queries: namesOf(known?.offers?.query, [], "query:"),
    durations: durations(samples),
    rates: rateColumns(rates, to - HOUR_MS, 60),
    runs: await shownRows(scope, recent.runs),
    now,
  };
}

/** What a definition of this process says. */
interface KnownWorkflow {
  readonly inputSchema?: { readonly "~standard"?: { readonly jsonSchema?: { input?(options: object): unknown } } };
  readonly offers?: Readonly<Partial<Record<"signal" | "update" | "query", Iterable<string>>>>;
}

function schemaOf(known: KnownWorkflow | undefined): unknown {
  try {
    return known?.inputSchema?.["~standard"]?.jsonSchema?.input?.({ target: "draft-2020-12" }) ?? null;
  } catch {
    return null; // a schema that JSON Schema cannot express
  }
}

function namesOf(known: Iterable<string> | undefined, ops: readonly string[], prefix: string): string[] {
  const seen = ops.filter((op) => op.startsWith(prefix)).map((op) => op.slice(prefix.length).replace(/#\d+$/, ""));
  return [...new Set([...(known ?? []), ...seen])].sort();
}

/** Of each op by its name: `charge#2` counts with `charge`. */
export function durations(samples: readonly (readonly StepView[])[]): WorkflowPage["durations"] {
  const found = new Map<string, { kind: string; points: { at: number; ms: number }[]; failures: number }>();
  for (const steps of samples)
    for (const step of steps) {
      const name = step.op.replace(/#\d+$/, "");
      const one = found.get(name) ?? { kind: step.kind, points: [], failures: 0 };
      found.set(name, one);
      if (step.status === "failed") one.failures += 1;
      const ms = lengthOf(step);
      if (ms !== null && step.endedAt) one.points.push({ at: step.endedAt.getTime(), ms });
    }
  return [...found].map(([op, { kind, points, failures }]) => {
    const byTime = [...points].sort((a, b) => a.at - b.at);
    const sorted = points.map(({ ms }) => ms).sort((a, b) => a - b);
    const share = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
    return {
      op,
      kind,
      ms: byTime.map(({ ms }) => ms),
      at: byTime.map(({ at }) => at),
      p50: share(0.5),
      p95: share(0.95),
      failures,
    };
  });
}
