import type { Run } from "../packages/holdfast/src/model/run.ts";
import type { Store } from "../packages/holdfast/src/ports/store.ts";
import type { Evidence, RunEvidence } from "./evidence.ts";

const RUNS_PER_PAGE = 500;
const EVENTS_MAX = 100_000;

/**
 * What a store knows about all runs of a namespace, as evidence: enough for the checkers that need rows, histories and
 * inboxes. A test on a real store adds what else it has (effects that its steps recorded, answers that callers got).
 */
export async function readEvidence(store: Store, namespace: string): Promise<Evidence> {
  const runs: RunEvidence[] = [];
  const inboxes = new Map();
  for (let before: Pick<Run, "createdAt" | "runId"> | undefined; ; ) {
    const rows = await store.runs.list({ namespace, limit: RUNS_PER_PAGE, ...(before ? { before } : {}) });
    const refs = rows.map(({ runId }) => ({ namespace, runId }));
    const whole = refs.length === 0 ? [] : await store.runs.read({ runs: refs });
    for (const run of whole) {
      if (!run) continue;
      const [history = []] = await store.histories.read({
        runs: [{ namespace, runId: run.runId, afterSeq: 0 }],
        limitPerRun: EVENTS_MAX,
      });
      runs.push({ run, history });
      inboxes.set(run.runId, await store.inbox.read({ runs: [{ namespace, runId: run.runId, after: 0 }] }));
    }
    before = rows.at(-1);
    if (rows.length < RUNS_PER_PAGE) break;
  }
  // Oldest first, so that a chain is in order.
  runs.sort((a, b) => a.run.createdAt - b.run.createdAt || (a.run.runId < b.run.runId ? -1 : 1));
  return { runs, inboxes };
}
