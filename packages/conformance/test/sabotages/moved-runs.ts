import type { DepartParams, PurgeRunsParams, RunImage, TransferParams } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

interface Arriving {
  readonly image: RunImage;
}

export const MOVED_RUNS: readonly Sabotage[] = [
  {
    it: "lets a run go with a message that nobody has read",
    noun: "departures",
    breaks: (it) => ({
      "transfers.departIfIdle": (params: DepartParams) =>
        it.transfers.departIfIdle({ ...params, delivered: it.state.runs.get(params.runId)?.delivered ?? 0 }),
    }),
  },
  {
    it: "lets a run go that has gone on since it was read",
    noun: "departures",
    breaks: (it) => ({
      "transfers.departIfIdle": (params: DepartParams) =>
        it.transfers.departIfIdle({ ...params, commit: it.state.runs.get(params.runId)?.commit ?? 0 }),
    }),
  },
  {
    it: "takes the departure of somebody else for a repetition",
    noun: "departures",
    breaks: (it) => ({
      "transfers.departIfIdle": (params: DepartParams) => {
        const departureId = it.state.departures.get(params.runId)?.departureId ?? params.departureId;
        return it.transfers.departIfIdle({ ...params, departureId });
      },
    }),
  },
  {
    it: "takes on every id that it is given",
    noun: "departures",
    breaks: () => ({ "transfers.identify": async (params: { readonly storeId: string }) => params }),
  },
  {
    it: "lets a run go without its children",
    noun: "departures",
    breaks: (it) => ({
      "transfers.departIfIdle": (params: DepartParams) => {
        it.state.children.delete(params.runId);
        return it.transfers.departIfIdle(params);
      },
    }),
  },
  {
    it: "purges runs that have left and not arrived",
    noun: "departures",
    breaks: (it) => ({
      "runs.purge": (params: PurgeRunsParams) => {
        it.state.departures.clear();
        return it.runs.purge(params);
      },
    }),
  },
  {
    it: "confirms an earlier departure in place of this one",
    noun: "departures",
    breaks: (it) => ({
      "transfers.confirm": async ({ runId }: TransferParams) => void it.state.departures.delete(runId),
    }),
  },
  {
    it: "forgets at once that a run has arrived",
    noun: "arrivals",
    breaks: (it) => ({
      "transfers.arrive": async ({ image }: Arriving) => {
        const answer = await it.transfers.arrive({ image });
        it.state.arrivals.delete(image.run.runId);
        return answer;
      },
    }),
  },
  {
    it: "lets a run in that it has refused before",
    noun: "arrivals",
    breaks: (it) => ({
      "transfers.arrive": async ({ image }: Arriving) => {
        if (it.state.arrivals.get(image.run.runId)?.refused) it.state.arrivals.delete(image.run.runId);
        return it.transfers.arrive({ image });
      },
    }),
  },
  {
    it: "forgets what earlier runs of the chain were sent",
    noun: "arrivals",
    breaks: (it) => ({
      "transfers.arrive": ({ image }: Arriving) =>
        it.transfers.arrive({ image: { ...image, rest: { ...image.rest, knownIds: [] } } }),
    }),
  },
  {
    it: "loses the tasks of a run that arrives",
    noun: "arrivals",
    breaks: (it) => ({
      "transfers.arrive": ({ image }: Arriving) =>
        it.transfers.arrive({ image: { ...image, rest: { ...image.rest, tasks: [] } } }),
    }),
  },
  {
    it: "loses the answers of a run that arrives",
    noun: "arrivals",
    breaks: (it) => ({
      "transfers.arrive": ({ image }: Arriving) =>
        it.transfers.arrive({ image: { ...image, rest: { ...image.rest, updates: [] } } }),
    }),
  },
];
