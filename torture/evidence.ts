/** The input of the judge: what was started, what the store contains, and what the processes did. Plain data. */
import type { Debt, HistoryEvent, Run, Store, Task } from "holdfast/adapter";
import type { EffectLine } from "./effects-file.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { Said } from "./say.ts";
import type { Answer } from "./token-clerk.ts";
import type { ExpectedEnd } from "./workload.ts";

/** A run whose start was acknowledged, or that follows from one. */
export interface StartedRun {
  readonly id: string;
  readonly expected: ExpectedEnd;
  /** It need not exist. */
  readonly optional?: true;
}

/** A run as stored; the same shape as for the simulator's checkers. */
export interface RunEvidence {
  readonly run: Run;
  /** Without the start and the end. */
  readonly history: readonly HistoryEvent[];
}

export interface Evidence {
  readonly started: readonly StartedRun[];
  readonly runs: readonly RunEvidence[];
  /** In the order in which they were written. */
  readonly lines: readonly EffectLine[];
  readonly entries?: readonly LedgerEntry[];
  /** The tasks that are in the store. */
  readonly rows?: readonly Task[];
  readonly answers?: readonly Answer[];
  /** What clients were answered. */
  readonly said?: readonly Said[];
  /** What runs still owe when nothing happens any more. */
  readonly debts?: readonly Debt[];
}

const PAGE = 200;
const EVENTS_PER_READ = 500;

/** Every run whose id, or whose first ancestor's id, has this prefix, including continued ones. */
export async function collectRuns(store: Store, prefix: string): Promise<RunEvidence[]> {
  const evidence: RunEvidence[] = [];
  for (let before: { createdAt: number; runId: string } | undefined; ; ) {
    const page = await store.runs.list({ namespace: "default", limit: PAGE, ...(before ? { before } : {}) });
    const rows = page.filter(({ id, lineage }) => (lineage?.root.id ?? id).startsWith(prefix));
    if (rows.length > 0) evidence.push(...(await readRuns(store, rows)));
    const last = page.at(-1);
    if (page.length < PAGE || !last) return evidence;
    before = { createdAt: last.createdAt, runId: last.runId };
  }
}

async function readRuns(store: Store, rows: readonly { readonly runId: string }[]): Promise<RunEvidence[]> {
  const runs = await store.runs.read({ runs: rows.map(({ runId }) => ({ namespace: "default", runId })) });
  const wanted = rows.map(({ runId }) => ({ namespace: "default", runId, afterSeq: 0 }));
  const histories = await store.histories.read({ runs: wanted, limitPerRun: EVENTS_PER_READ });
  return runs.flatMap((run, i) => (run ? [{ run, history: histories[i] ?? [] }] : []));
}

/** Every task that is in the store. */
export async function collectTasks(store: Store): Promise<Task[]> {
  const tasks: Task[] = [];
  for (;;) {
    const last = tasks.at(-1);
    const after = last ? { after: { runId: last.runId, seq: last.seq } } : {};
    const page = await store.tasks.list({ namespace: "default", limit: PAGE, ...after });
    tasks.push(...page);
    if (page.length < PAGE) return tasks;
  }
}
