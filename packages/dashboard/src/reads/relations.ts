import type { RunSummary } from "holdfast";
import type { RunRow } from "../api/list-messages.ts";
import type { Relations, RunDetail } from "../api/run-messages.ts";
import { rowsOf } from "./listed-rows.ts";
import { namedRun } from "./named-run.ts";
import { runRow } from "./run-row.ts";
import type { Ask, Scope } from "./scope.ts";

const PAGE = 50;
const CHAIN_MAX = 50;
const ANCESTORS_MAX = 20;
const COUNTED_MAX = 100;

/** How many runs it has to do with, for the word beside the tab. */
export async function relatedTo(
  { view }: Scope,
  { runId, parent, forkedFrom, continuedFrom, continuedAs }: RunSummary,
): Promise<Pick<RunDetail, "related" | "relatedCapped">> {
  const counted = await Promise.all([
    view.count({ parent: runId, atMost: COUNTED_MAX }),
    view.count({ forkedFrom: runId, atMost: COUNTED_MAX }),
  ]);
  const single = [parent, forkedFrom, continuedFrom, continuedAs].filter((one) => one !== null).length;
  return { related: single + counted[0] + counted[1], relatedCapped: counted.includes(COUNTED_MAX) };
}

export async function relations(ask: Ask): Promise<Relations> {
  const { scope, query } = ask;
  const { run } = await namedRun(ask);
  const { view } = scope;
  const cursor = query.get("cursor");
  const [children, forks, sameId, ancestors, chain, origin] = await Promise.all([
    view.list({ parent: run.runId, limit: PAGE, ...(cursor ? { cursor } : {}) }),
    view.list({ forkedFrom: run.runId, limit: PAGE }),
    view.list({ id: run.id, limit: PAGE }),
    ancestorsOf(scope, run),
    chainOf(scope, run),
    run.forkedFrom ? rowsOf(scope, [run.forkedFrom.runId]) : [],
  ]);
  const inChain = new Set(chain.map(({ runId }) => runId));
  return {
    ancestors,
    children: children.runs.map(runRow),
    childrenCursor: children.cursor,
    chain,
    origin: origin[0] ?? null,
    forks: forks.runs.map(runRow),
    sameId: sameId.runs.filter(({ runId }) => !inChain.has(runId)).map(runRow),
  };
}

/** A parent of another namespace, or one that is gone, ends the walk. */
async function ancestorsOf(scope: Scope, run: RunSummary): Promise<RunRow[]> {
  const found: RunRow[] = [];
  for (let parent = run.parent; parent && found.length < ANCESTORS_MAX; ) {
    const above = await described(scope, parent.runId);
    if (!above) break;
    found.unshift(runRow(above));
    parent = above.parent;
  }
  return found;
}

async function chainOf(scope: Scope, run: RunSummary): Promise<RunRow[]> {
  const found = [runRow(run)];
  for (let before = run.continuedFrom; before !== null && found.length < CHAIN_MAX; ) {
    const one = await described(scope, before);
    if (!one) break;
    found.unshift(runRow(one));
    before = one.continuedFrom;
  }
  const back = found.length;
  for (let after = run.continuedAs; after !== null && found.length - back < CHAIN_MAX; ) {
    const one = await described(scope, after);
    if (!one) break;
    found.push(runRow(one));
    after = one.continuedAs;
  }
  return found;
}

async function described({ view }: Scope, runId: string): Promise<RunSummary | undefined> {
  return view
    .get({ runId })
    .describe()
    .catch(() => undefined);
}
