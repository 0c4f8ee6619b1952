import type { HistoryEvent } from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

const isClosed = (it: Saboteur, runId: string): boolean => it.row(runId)?.endedAt != null;

/** What a store may get wrong that keeps the last event of a closed run apart from the others. */
export const CLOSED_RUNS: readonly Sabotage[] = [
  {
    it: "reads the history of a closed run without its last event",
    noun: "last events",
    breaks: (it) => ({
      "histories.read": async (params) => {
        const histories = await it.histories.read(params);
        return histories.map((events, i) => {
          const { runId } = params.runs[i] as { runId: string };
          return isClosed(it, runId) ? events.filter(({ seq }) => seq < it.row(runId).eventCount) : events;
        });
      },
    }),
  },
  {
    it: "reads the last event of a closed run although the window ends before it",
    noun: "last events",
    breaks: (it) => ({
      "histories.read": async (params) => {
        const histories = await it.histories.read(params);
        const whole = await it.histories.read({ ...params, limitPerRun: Number.MAX_SAFE_INTEGER });
        return histories.map((events, i) => {
          const last = whole[i]?.at(-1);
          const { runId } = params.runs[i] as { runId: string };
          return last && isClosed(it, runId) && events.at(-1) !== last ? [...events, last] : events;
        });
      },
    }),
  },
  {
    it: "loses the last event of a run that is reopened",
    noun: "last events",
    breaks: (it) => {
      const lost = new Map<string, number>();
      return {
        "runs.reopenIfFailed": async (params) => {
          const reopened = await it.runs.reopenIfFailed(params);
          if (reopened.outcome === "reopened" && "runId" in params.run) lost.set(params.run.runId, params.eventCount);
          return reopened;
        },
        "histories.read": async (params) => {
          const histories = await it.histories.read(params);
          const without = (events: readonly HistoryEvent[], runId: string) =>
            events.filter(({ seq }) => seq !== lost.get(runId));
          return histories.map((events, i) => without(events, (params.runs[i] as { runId: string }).runId));
        },
      };
    },
  },
  {
    it: "does not find the value of the last event of a closed run",
    noun: "last events",
    rare: true,
    breaks: (it) => ({
      "payloads.read": async (params) => {
        const pages = await it.payloads.read(params);
        return pages.map((page, i) => {
          const { runId } = params.runs[i] as { runId: string };
          if (!isClosed(it, runId)) return page;
          return page.filter(({ part, number }) => part !== "event" || number < it.row(runId).eventCount);
        });
      },
    }),
  },
  {
    it: "does not see that the last event of a closed run is a compensation",
    noun: "last events",
    rare: true,
    breaks: (it) => ({
      "runs.fork": (params) => {
        const { eventCount = 0 } = it.row(params.origin.runId) ?? {};
        const judged = isClosed(it, params.origin.runId) ? Math.max(params.judged, eventCount) : params.judged;
        return it.runs.fork({ ...params, judged });
      },
    }),
  },
];
