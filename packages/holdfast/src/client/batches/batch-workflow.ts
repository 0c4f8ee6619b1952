/**
 * The built-in workflow of batches: finds a page of runs, acts on them, and goes on behind them.
 *
 * Invariant B2: which runs a page has is recorded before anything is done to them. Runs that have been acted on may no longer match
 * the filter, so a page that is found again after a crash would miss them.
 * Invariant B3: the walk goes by creation, the newest first, from the time at which the batch began. No action changes that order, so
 * each run is met at most once, and those that are created meanwhile are not met at all.
 */
import { query } from "../../define/conversations.ts";
import { type WorkflowDefinition, workflow } from "../../define/definitions.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import { BATCH_PAGE_SIZE, BATCH_PAGES_MAX, BATCH_SKIPPED_MAX, BATCH_WORKFLOW } from "../../model/batch.ts";
import type { ListRunsParams, RunFilter } from "../../ports/store.ts";
import type { StepOptions } from "../../replay/ops/step-options.ts";
import type { ClientCore } from "../client-core.ts";
import { type Acted, actOn, type BatchAction, unfit } from "./batch-actions.ts";
import type { BatchResult, SkippedRun } from "./batch-result.ts";

/** The filter of a batch, as its input has it. */
export type BatchFilter = Omit<RunFilter, "namespace">;

export interface BatchInput {
  readonly filter: BatchFilter;
  readonly action: BatchAction;
  readonly perSecond?: number;
  /** Of a batch that has continued as new. */
  readonly soFar?: SoFar;
}

type Place = NonNullable<ListRunsParams["before"]>;

interface SoFar extends Omit<BatchResult, "id"> {
  /** The run id of the batch: its first one, if it has continued as new. */
  readonly batch: string;
  /** When it began, by the store's clock. */
  readonly until?: number;
  /** Behind which run to go on. */
  readonly place?: Place;
}

interface Page {
  readonly until: number;
  /** The runs to act on. */
  readonly runIds: readonly string[];
  readonly skipped: readonly SkippedRun[];
  /** Null: there are no more. */
  readonly place: Place | null;
  /** Known to the process that has found the page, until it begins with it. */
  readonly token: string;
}

export type BatchWorkflow = WorkflowDefinition<BatchInput, BatchResult>;

/** How far a batch is. */
export const batchProgress = query<BatchResult>("progress");

/** Outages end; nothing that concerns a single run makes a step fail. What a server does not allow does not get better. */
const STEADY: StepOptions = {
  retry: { attempts: 1_000, initial: "1s", factor: 2, max: "1m" },
  retryIf: (error) => !isHoldfastError(error, "permission_denied"),
};

/** Pages that were found and never begun here: their runs are another worker's. */
const TOKENS_MAX = 1_000;

/** `core`: of the namespace whose runs are acted on. */
export function batchWorkflow(core: ClientCore): BatchWorkflow {
  const tokens = new Set<string>();
  const definition = workflow(
    { name: "batch", queries: [batchProgress] },
    async (ctx, { soFar, ...input }: BatchInput): Promise<BatchResult> => {
      let at: SoFar = soFar ?? {
        batch: ctx.info.runId,
        matched: 0,
        done: 0,
        skipped: [],
        skippedCount: 0,
      };
      const { id } = ctx.info;
      ctx.on(batchProgress, () => resultOf(id, at));
      const who = { ...input.action.who, batch: at.batch };
      for (let pages = 0; ; pages++) {
        if (pages === BATCH_PAGES_MAX) return ctx.continueAsNew({ ...input, soFar: at });
        const page: Page = await ctx.step(
          "batch:find",
          () => whileOpen(core, findPage(core, tokens, input, at)),
          STEADY,
        );
        const { runIds } = page;
        const began = ctx.now().getTime();
        const acted: Acted =
          runIds.length === 0
            ? { done: 0, skipped: [] }
            : await ctx.step(
                "batch:act",
                (s) => {
                  const acting = { core, action: input.action, who, abort: s.signal };
                  return whileOpen(core, actOn({ ...acting, first: tokens.delete(page.token) }, runIds));
                },
                STEADY,
              );
        at = moved(at, page, acted);
        if (page.place === null) return resultOf(id, at);
        if (input.perSecond !== undefined && runIds.length > 0) {
          const paceMs = Math.ceil((runIds.length * 1_000) / input.perSecond);
          await ctx.sleepUntil("batch:pace", new Date(nextPageAt(began, ctx.now().getTime(), paceMs)));
        }
      }
    },
  );
  // Users cannot define workflows of such a name.
  return { ...definition, name: BATCH_WORKFLOW };
}

async function findPage(
  core: ClientCore,
  tokens: Set<string>,
  { filter, action, perSecond = BATCH_PAGE_SIZE }: BatchInput,
  { until: begun, place }: SoFar,
): Promise<Page> {
  const until = begun ?? Math.floor((await core.call((store) => store.readClock())).now);
  const size = Math.min(BATCH_PAGE_SIZE, perSecond);
  const params: ListRunsParams = {
    ...filter,
    namespace: core.namespace,
    // With the runs of the same millisecond: one that was started just before must not be missed.
    createdBefore: Math.min(filter.createdBefore ?? Number.POSITIVE_INFINITY, until + 1),
    limit: size + 1,
    ...(place ? { before: place } : {}),
  };
  const rows = await core.call((store) => store.runs.list(params));
  const met = rows.slice(0, size);
  const last = met.at(-1);
  const skipped = met.flatMap(({ runId, status }) => {
    const code = unfit(action.name, status);
    return code === undefined ? [] : [{ runId, code }];
  });
  const runIds = met.filter(({ status }) => unfit(action.name, status) === undefined).map(({ runId }) => runId);
  const next = last && rows.length > size ? { createdAt: last.createdAt, runId: last.runId } : null;
  if (tokens.size >= TOKENS_MAX) tokens.clear();
  const token = core.newId();
  tokens.add(token);
  return { until, runIds, skipped, place: next, token };
}

/** After an outage nobody knows when the page was really done: the next one keeps its distance from the end. */
function nextPageAt(began: number, ended: number, paceMs: number): number {
  return (ended - began > paceMs ? ended : began) + paceMs;
}

function moved(at: SoFar, { until, place, runIds, skipped: unfitRuns }: Page, acted: Acted): SoFar {
  const skipped = [...unfitRuns, ...acted.skipped];
  return {
    batch: at.batch,
    until,
    ...(place ? { place } : {}),
    matched: at.matched + runIds.length + unfitRuns.length,
    done: at.done + acted.done,
    skipped: [...at.skipped, ...skipped].slice(0, BATCH_SKIPPED_MAX),
    skippedCount: at.skippedCount + skipped.length,
  };
}

function resultOf(id: string, { matched, done, skipped, skippedCount }: SoFar): BatchResult {
  return { id, matched, done, skipped, skippedCount };
}

/** When the client is closed, its worker drops the run: the attempt must not fail because of that, or the page would wait. */
async function whileOpen<T>(core: ClientCore, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (core.life.over) return new Promise<never>(() => {});
    throw error;
  }
}
