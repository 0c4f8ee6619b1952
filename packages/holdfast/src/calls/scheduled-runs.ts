/** The runs of schedules, and the changes of a schedule that start them: shared by the leader, triggers and backfills. */
import { jitterMs, latestBetween, nextAfter, timesBetween } from "../calendar/index.ts";
import { isOpen, type JudgedTimes } from "../model/decisions/schedule.ts";
import { formatDuration } from "../model/duration.ts";
import {
  type IdOwner,
  type Schedule,
  type ScheduleDecision,
  scheduleAttributes,
  scheduledId,
  scheduledRunId,
  scheduleOf,
} from "../model/schedule.ts";
import type { PutSchedule, StartRun, Store } from "../ports/store.ts";
import { tracedSeed } from "../report/traced-start.ts";
import type { PortsBundle } from "./ports-bundle.ts";

/** How far missed times are counted. */
const COUNTED_MAX = 1_000;

/** What starts need of the ports. */
export type StartingPorts = Pick<PortsBundle, "random" | "telemetry">;

export interface DueTimes {
  readonly times: readonly number[];
  readonly missed: readonly ScheduleDecision[];
  /** The first time after these. */
  readonly nextAt: number | null;
}

/** The times of a schedule that have come: those that its limits leave of them, and what is to be said about the others. */
export function dueTimes({ definition, state }: Pick<Schedule, "definition" | "state">, now: number): DueTimes {
  const { spec, catchUpMax, catchUpWindowMs } = definition;
  const { nextAt } = state;
  if (nextAt === null || nextAt > now) return { times: [], missed: [], nextAt };
  const earliest = catchUpWindowMs === null ? nextAt : Math.max(nextAt, now - catchUpWindowMs);
  const times = latestBetween(spec, earliest - 1, now, catchUpMax);
  const firstKept = times[0] ?? now + 1;
  // Without a window, only the number can have left times out.
  const why =
    catchUpWindowMs === null || (firstKept > earliest && times.length === catchUpMax)
      ? `only the latest ${catchUpMax} are made up for`
      : `the catch-up window is ${formatDuration(catchUpWindowMs)}`;
  const missed = missedBetween(spec, nextAt, firstKept - 1, why);
  return { times, missed, nextAt: nextAfter(spec, now) };
}

/** One decision for all times of a span that nothing was started for, if there are any. */
export function missedBetween(
  spec: Schedule["definition"]["spec"],
  from: number,
  to: number,
  why: string,
): ScheduleDecision[] {
  const times = timesBetween(spec, from - 1, to, COUNTED_MAX + 1);
  const [first] = times;
  if (first === undefined) return [];
  if (times.length === 1) return [{ at: first, what: "missed", reason: why }];
  const many = times.length > COUNTED_MAX;
  const until = new Date(many ? to : (times.at(-1) as number)).toISOString();
  const count = many ? `more than ${COUNTED_MAX}` : String(times.length);
  return [{ at: first, what: "missed", reason: `${count} times up to ${until}: ${why}` }];
}

/** The start of the run for a time. Jitter delays the run, and is not part of its timeout. */
export function scheduledStart(
  schedule: Schedule,
  at: number,
  { random, telemetry }: StartingPorts,
  id?: string,
): StartRun {
  const { namespace, definition, input } = schedule;
  const { workflow, version, fallbackVersion, queue, priority, key, attributes, timeoutMs, spec } = definition;
  const runKey = id ?? scheduledId(schedule.id, at);
  const runId = scheduledRunId(namespace, runKey, at);
  const delayMs = id === undefined ? jitterMs(spec, schedule.id, at) : 0;
  const name = { namespace, runId, id: runKey, workflow, version: version ?? fallbackVersion, queue };
  return {
    run: {
      ...name,
      priority,
      input,
      seed: tracedSeed(telemetry, name, { by: "schedule" }),
      attributes: { ...attributes, ...scheduleAttributes(schedule.id, at) },
      ...(delayMs > 0 ? { startAt: at + delayMs } : {}),
      ...(timeoutMs === null ? {} : { timeoutMs: timeoutMs + delayMs }),
      ...(key === undefined ? {} : { key }),
    },
    ifRunning: "return",
    ifClosed: "return",
    hold: false,
    pick: version === null ? random.next() : null,
  };
}

/** How many runs one call reads. */
const READ_PER_CALL_MAX = 1_000;

interface TimesOf extends Pick<Schedule, "namespace" | "id"> {
  readonly times: readonly number[];
}

/** Whose runs have the ids of the runs of these times; a time whose id is free is left out. */
export async function takenTimes(
  store: Pick<Store, "runs">,
  { namespace, id }: Pick<Schedule, "namespace" | "id">,
  times: readonly number[],
): Promise<ReadonlyMap<number, IdOwner>> {
  const [taken] = await takenTimesOfAll(store, [{ namespace, id, times }]);
  return taken as ReadonlyMap<number, IdOwner>;
}

/** For each schedule: whose runs have the ids of the runs of these times. */
export async function takenTimesOfAll(
  store: Pick<Store, "runs">,
  schedules: readonly TimesOf[],
): Promise<readonly ReadonlyMap<number, IdOwner>[]> {
  const owners = schedules.map(() => new Map<number, IdOwner>());
  const all = schedules.flatMap(({ namespace, id, times }, i) => times.map((at) => ({ namespace, id, at, i })));
  for (let from = 0; from < all.length; from += READ_PER_CALL_MAX) {
    const some = all.slice(from, from + READ_PER_CALL_MAX);
    const found = await store.runs.read({
      runs: some.map(({ namespace, id, at }) => ({ namespace, id: scheduledId(id, at) })),
    });
    for (const [k, { id, at, i }] of some.entries()) {
      const run = found[k];
      const by = run && scheduleOf(run.attributes);
      if (run) owners[i]?.set(at, by?.schedule === id && by.scheduledAt === at ? "schedule" : "other");
    }
  }
  return owners;
}

/** The change that carries out what was judged. */
export function putOf(
  schedule: Schedule,
  { starts, state, decided }: JudgedTimes,
  next: string,
  ports: StartingPorts,
): PutSchedule {
  const { namespace, id, revision, open } = schedule;
  const started = starts.map((at) => scheduledStart(schedule, at, ports));
  return { namespace, id, revision, next, state, decided, assumes: { open: isOpen(open) }, starts: started };
}
