import type {
  DueSchedulesParams,
  HeartbeatParams,
  ListSchedulesParams,
  PutSchedulesParams,
  SweepParams,
  WorkerRef,
} from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

export const SCHEDULES: readonly Sabotage[] = [
  {
    it: "leaves a leader in its place that it has declared dead",
    noun: "the leader",
    breaks: (it) => ({
      "workers.sweep": async (params: SweepParams) => {
        const { leader } = it.state;
        const result = await it.workers.sweep(params);
        it.state.leader = leader;
        return result;
      },
    }),
  },
  {
    it: "tells nobody that it has declared the leader dead",
    noun: "the leader",
    breaks: (it) => ({
      "workers.sweep": async (params: SweepParams) => {
        const { leader } = it.state;
        it.state.leader = null;
        const result = await it.workers.sweep(params);
        const isDead = leader && it.state.workers.get(leader.workerId)?.status === "offline";
        it.state.leader = isDead ? null : leader;
        return result;
      },
    }),
  },
  {
    it: "takes the place from the leader when any worker is declared dead",
    noun: "the leader",
    breaks: (it) => ({
      "workers.sweep": async (params: SweepParams) => {
        const result = await it.workers.sweep(params);
        if (result.dead > 0) it.state.leader = null;
        return result;
      },
    }),
  },
  {
    it: "lets whoever beats last lead",
    noun: "the leader",
    breaks: (it) => ({
      "workers.heartbeat": (params: HeartbeatParams) => {
        it.state.leader = null;
        return it.workers.heartbeat(params);
      },
    }),
  },
  {
    it: "lets workers lead that drain",
    noun: "the leader",
    breaks: (it) => ({
      "workers.heartbeat": (params: HeartbeatParams) => it.workers.heartbeat({ ...params, draining: false }),
    }),
  },
  {
    it: "keeps the leader when it stops",
    noun: "the leader",
    breaks: (it) => ({
      "workers.stop": async (params: WorkerRef) => {
        const { leader } = it.state;
        await it.workers.stop(params);
        it.state.leader = leader;
      },
    }),
  },
  {
    it: "changes schedules whatever their revision is",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": async (params: PutSchedulesParams) => {
        const known = await it.schedules.read({ schedules: params.puts });
        const puts = params.puts.map((put, i) => ({ ...put, revision: known[i]?.revision ?? null }));
        return it.schedules.putIfRevision({ ...params, puts });
      },
    }),
  },
  {
    it: "does not look whether the open run is open",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": (params: PutSchedulesParams) =>
        it.schedules.putIfRevision({ ...params, puts: params.puts.map(({ assumes: _, ...put }) => put) }),
    }),
  },
  {
    it: "changes a schedule and starts nothing",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": (params: PutSchedulesParams) =>
        it.schedules.putIfRevision({ ...params, puts: params.puts.map((put) => ({ ...put, starts: [] })) }),
    }),
  },
  {
    it: "starts the runs of changes that it refuses",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": async (params: PutSchedulesParams) => {
        const result = await it.schedules.putIfRevision(params);
        const starts = params.puts.flatMap((put) => put.starts);
        const replaceError = { name: "Error", message: "", kind: "Unknown" } as const;
        await it.runs.start({ starts, holdBy: null, replaceError });
        return result;
      },
    }),
  },
  {
    it: "does not say that ids are taken",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": async (params: PutSchedulesParams) => {
        const { outcomes, now } = await it.schedules.putIfRevision(params);
        return { outcomes: outcomes.map(({ outcome }) => ({ outcome })), now };
      },
    }),
  },
  {
    it: "does not tell the leader of changes",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": (params: PutSchedulesParams) =>
        it.schedules.putIfRevision({ ...params, announce: false }),
    }),
  },
  {
    it: "gives out schedules that wait for a run that is open",
    noun: "due schedules",
    breaks: (it) => ({
      "schedules.due": (params: DueSchedulesParams) => {
        for (const one of it.state.schedules.values())
          if (one.state.waits === "end") Object.assign(one, { state: { ...one.state, waits: "look" } });
        return it.schedules.due(params);
      },
    }),
  },
  {
    it: "gives out the schedules by their ids",
    noun: "due schedules",
    breaks: (it) => ({
      "schedules.due": async (params: DueSchedulesParams) => {
        const result = await it.schedules.due(params);
        return { ...result, schedules: [...result.schedules].sort((a, b) => (a.id < b.id ? -1 : 1)) };
      },
    }),
  },
  {
    it: "lists all schedules as failing",
    noun: "due schedules",
    breaks: (it) => ({
      "schedules.list": ({ failing: _, ...params }: ListSchedulesParams) => it.schedules.list(params),
    }),
  },
];
