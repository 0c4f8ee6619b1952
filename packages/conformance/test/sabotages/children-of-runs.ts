import {
  type CommitRunsParams,
  isClosed,
  type ListRunsParams,
  type StartOutcome,
  type StartRun,
  type StartRunsParams,
} from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

/** Children without parents, and parents without children. */
export const CHILDREN_OF_RUNS: readonly Sabotage[] = [
  {
    it: "starts children of closed parents",
    noun: "children",
    breaks: (it) => startingAgain(it, "parent_closed"),
  },
  {
    it: "starts children that were given up",
    noun: "children",
    breaks: (it) => ({
      "runs.start": (params) => {
        for (const { run, parent } of params.starts) {
          const child = parent && it.state.children.get(parent.parent.runId)?.get(run.runId);
          if (child) child.givenUp = false;
        }
        return it.runs.start(params);
      },
    }),
  },
  {
    it: "forgets where a child comes from",
    noun: "children",
    breaks: (it) => ({
      "runs.start": async (params) => {
        const { outcomes, now } = await it.runs.start(params);
        return { outcomes: outcomes.map((one) => (one.run ? withoutLineage(it, one) : one)), now };
      },
    }),
  },
  {
    it: "refuses a start that is repeated after the end of the parent",
    noun: "children",
    breaks: (it) => ({
      "runs.start": async (params) => {
        const { outcomes, now } = await it.runs.start(params);
        const refused = { outcome: "parent_closed", run: null } as const;
        return { outcomes: outcomes.map((one, i) => (isOrphan(it, params.starts[i]) ? refused : one)), now };
      },
    }),
  },
  {
    it: "makes a child of a run that was there before",
    noun: "children",
    breaks: (it) => ({
      "runs.start": async (params) => {
        const { outcomes, now } = await it.runs.start(params);
        const adopted = outcomes.map((one, i) => {
          const parent = params.starts[i]?.parent;
          return parent && one.outcome === "returned" ? { ...one, run: { ...one.run, lineage: parent } } : one;
        });
        return { outcomes: adopted, now };
      },
    }),
  },
  {
    it: "does not hand a lineage on",
    noun: "lineage",
    breaks: (it) => ({
      "runs.commit": async (params) => {
        const result = await it.runs.commit(params);
        for (const next of successors(params)) delete it.state.runs.get(next)?.lineage;
        return result;
      },
    }),
  },
  {
    it: "lists only the children that were started, and not their continuations",
    noun: "lineage",
    breaks: (it) => ({
      "runs.list": async (params: ListRunsParams) => {
        const rows = await it.runs.list(params);
        return params.parent === undefined ? rows : rows.filter(({ continuedFrom }) => continuedFrom === null);
      },
    }),
  },
  {
    it: "looks at the parent before it starts the child, and not again",
    noun: "conversation races",
    breaks: (it) => ({
      "runs.start": async (params) => {
        const open = params.starts.every((start) => start.parent && !isOrphan(it, start));
        const result = await it.runs.start(params);
        const refused = result.outcomes.some(({ outcome }) => outcome === "parent_closed");
        return open && refused ? it.runs.start(withoutParents(params)) : result;
      },
    }),
  },
];

type Hooks = ReturnType<Sabotage["breaks"]>;

/** Starts that were refused are made again as if they had no parent. */
export function startingAgain(it: Saboteur, refusal: "parent_closed" | "not_allowed"): Hooks {
  return {
    "runs.start": async (params) => {
      const { outcomes, now } = await it.runs.start(params);
      const again = outcomes.map(async (one, i) => {
        if (one.outcome !== refusal) return one;
        const starts = [params.starts[i] as StartRun];
        return (await it.runs.start(withoutParents({ ...params, starts }))).outcomes[0] as StartOutcome;
      });
      return { outcomes: await Promise.all(again), now };
    },
  };
}

function withoutParents(params: StartRunsParams): StartRunsParams {
  return { ...params, starts: params.starts.map(({ parent: _parent, ...start }) => start) };
}

function isOrphan(it: Saboteur, start: StartRun | undefined): boolean {
  const parent = start?.parent && it.state.runs.get(start.parent.parent.runId);
  return start?.parent !== undefined && (!parent || isClosed(parent.status));
}

function withoutLineage(it: Saboteur, one: StartOutcome): StartOutcome {
  delete it.row(one.run.runId).lineage;
  const { lineage: _lineage, ...run } = one.run;
  return { ...one, run };
}

export function successors({ commits }: CommitRunsParams): string[] {
  return commits.flatMap(({ transition }) => (transition.type === "continue" ? [transition.next.runId] : []));
}
