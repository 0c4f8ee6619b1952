import type {
  DueSchedulesParams,
  HeartbeatParams,
  PutSchedule,
  PutSchedulesParams,
  SweepParams,
} from "holdfast/adapter";
import type { Sabotage, Saboteur } from "./saboteur.ts";

const recordOf = (it: Saboteur, { namespace, id }: Pick<PutSchedule, "namespace" | "id">) =>
  it.state.schedules.get(`${namespace}\n${id}`);

const withPuts = (params: PutSchedulesParams, change: (put: PutSchedule) => PutSchedule): PutSchedulesParams => ({
  ...params,
  puts: params.puts.map(change),
});

const PUTS: readonly Sabotage[] = [
  {
    it: "changes a schedule whatever its revision is",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": (params: PutSchedulesParams) => {
        const puts = withPuts(params, (put) => ({ ...put, revision: recordOf(it, put)?.revision ?? put.revision }));
        return it.schedules.putIfRevision(puts);
      },
    }),
  },
  {
    it: "changes a schedule whatever its open run does",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": (params: PutSchedulesParams) =>
        it.schedules.putIfRevision(withPuts(params, ({ assumes: _assumes, ...put }) => put)),
    }),
  },
  {
    it: "starts the runs of a change that it refuses",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": async (params: PutSchedulesParams) => {
        const result = await it.schedules.putIfRevision(params);
        const starts = params.puts.flatMap((put, i) => (result.outcomes[i]?.outcome === "moved" ? put.starts : []));
        await it.runs.start({ starts, holdBy: null, replaceError: { name: "Error", message: "", kind: "Unknown" } });
        return result;
      },
    }),
  },
  {
    it: "changes a schedule and starts nothing",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": (params: PutSchedulesParams) =>
        it.schedules.putIfRevision(withPuts(params, (put) => ({ ...put, starts: [] }))),
    }),
  },
  {
    it: "takes a change that is repeated for another one",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": async (params: PutSchedulesParams) => {
        const known = params.puts.map((put) => recordOf(it, put)?.revision === put.next);
        const { outcomes, now } = await it.schedules.putIfRevision(params);
        return { outcomes: outcomes.map((one, i) => (known[i] ? { outcome: "moved" as const } : one)), now };
      },
    }),
  },
  {
    it: "changes a schedule although others have the ids of its runs",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": async (params: PutSchedulesParams) => {
        const { outcomes } = await it.schedules.putIfRevision(params);
        const again = withPuts(params, (put) => ({
          ...put,
          starts: put.starts.filter(({ run }) => !outcomes.some(({ taken }) => taken?.includes(run.id))),
        }));
        return it.schedules.putIfRevision(again);
      },
    }),
  },
  {
    it: "terminates a run for a change that it refuses",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": async (params: PutSchedulesParams) => {
        const result = await it.schedules.putIfRevision(params);
        for (const [i, { namespace, terminates }] of params.puts.entries())
          if (terminates && result.outcomes[i]?.outcome === "taken")
            await it.runs.terminate({ runs: [{ namespace, runId: terminates.runId }], error: terminates.error });
        return result;
      },
    }),
  },
  {
    it: "starts the next run and terminates none",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": (params: PutSchedulesParams) =>
        it.schedules.putIfRevision(withPuts(params, ({ terminates: _stays, ...put }) => put)),
    }),
  },
  {
    it: "does not say that a run that was terminated owes something",
    noun: "changes of schedules",
    rare: true,
    breaks: (it) => ({
      "schedules.putIfRevision": async (params: PutSchedulesParams) => {
        const { outcomes, now } = await it.schedules.putIfRevision(params);
        return { outcomes: outcomes.map(({ owes: _owes, ...one }) => one), now };
      },
    }),
  },
  {
    it: "keeps the decisions of the last change alone",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.putIfRevision": async (params: PutSchedulesParams) => {
        const result = await it.schedules.putIfRevision(params);
        for (const put of params.puts) {
          const record = recordOf(it, put);
          if (record) it.state.schedules.set(`${put.namespace}\n${put.id}`, { ...record, decisions: put.decided });
        }
        return result;
      },
    }),
  },
  {
    it: "takes a run that continued as new for one that has ended",
    noun: "changes of schedules",
    breaks: (it) => ({
      "schedules.read": async (params) => {
        const found = await it.schedules.read(params);
        return found.map((one) => {
          const continues = one?.open && it.state.runs.get(one.open.runId)?.continuedFrom != null;
          return one && continues ? { ...one, open: null } : one;
        });
      },
    }),
  },
];

const DUE: readonly Sabotage[] = [
  {
    it: "gives out schedules in the order of their ids",
    noun: "due schedules",
    breaks: (it) => ({
      "schedules.due": async (params) => {
        const result = await it.schedules.due(params);
        return { ...result, schedules: [...result.schedules].sort((a, b) => (a.id < b.id ? -1 : 1)) };
      },
    }),
  },
  {
    it: "forgets schedules whose buffered times may start",
    noun: "due schedules",
    breaks: (it) => ({
      "schedules.due": async (params) => {
        const result = await it.schedules.due(params);
        return { ...result, schedules: result.schedules.filter(({ state }) => state.waits === "no") };
      },
    }),
  },
  {
    it: "does not say for which runs buffered times wait",
    noun: "due schedules",
    breaks: (it) => ({ "schedules.due": async (params) => ({ ...(await it.schedules.due(params)), awaited: [] }) }),
  },
  {
    it: "knows the due schedules of one namespace",
    noun: "due schedules",
    breaks: (it) => ({
      "schedules.due": async (params) => {
        const result = await it.schedules.due(params);
        return { ...result, schedules: result.schedules.filter(({ namespace }) => namespace === "default") };
      },
    }),
  },
  {
    it: "never says that there are more due schedules",
    noun: "due schedules",
    breaks: (it) => ({ "schedules.due": async (params) => ({ ...(await it.schedules.due(params)), more: false }) }),
  },
  {
    it: "begins with the first due schedules, whatever the position to go on from",
    noun: "due schedules",
    breaks: (it) => ({
      "schedules.due": ({ after: _after, ...params }: DueSchedulesParams) => it.schedules.due(params),
    }),
  },
];

const LEADERS: readonly Sabotage[] = [
  {
    it: "lets a leader that drains go on",
    noun: "the leader",
    breaks: (it) => ({
      "workers.heartbeat": (params: HeartbeatParams) => it.workers.heartbeat({ ...params, draining: false }),
    }),
  },
  {
    it: "keeps a leader whose lease has expired",
    noun: "the leader",
    breaks: (it) => ({
      "workers.heartbeat": async (params: HeartbeatParams) => {
        const { leader } = it.state;
        const { leads, ...result } = await it.workers.heartbeat(params);
        const stays = leader !== null && leader.workerId !== params.workerId;
        if (stays) it.state.leader = leader;
        return stays || leads === undefined ? result : { ...result, leads };
      },
    }),
  },
  {
    it: "makes a leader of everybody who asks",
    noun: "the leader",
    breaks: (it) => ({
      "workers.heartbeat": (params: HeartbeatParams) => {
        if (params.coordinates) it.state.leader = null;
        return it.workers.heartbeat(params);
      },
    }),
  },
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
    noun: "hints about the leader",
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
];

export const SCHEDULES: readonly Sabotage[] = [...PUTS, ...DUE, ...LEADERS];
