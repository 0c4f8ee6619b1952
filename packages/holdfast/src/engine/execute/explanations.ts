/**
 * Why a run is parked, and where in its code to look. Slow: each takes a second replay that records where the code asks for
 * ops.
 */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { eventRole, type HistoryEvent, opOf } from "../../model/event.ts";
import type { Machine } from "../../replay/machine.ts";
import { explainDivergence, replayHistory } from "../../replay/replayer.ts";
import type { ExecutorHost } from "./executor-host.ts";

/** For longer histories only the op's name is given. */
const EVENTS_MAX = 5_000;

export interface Parked {
  readonly machine: Machine;
  /** A machine of the same run that has seen that much, and records where the code asks for each op. */
  readonly looking: (history: readonly HistoryEvent[]) => Machine;
  /** Where the workflow is defined. */
  readonly definedAt: string | undefined;
  /** Events that are not in the store yet, in order. */
  readonly unwritten: readonly HistoryEvent[];
  readonly cause: unknown;
}

type Host = Pick<ExecutorHost, "clock" | "store">;

export type Explanation = (parked: Parked, host: Host) => Promise<HoldfastError>;

/** The code has diverged from the history. */
export function divergence({ machine, looking }: Parked, { clock }: Host): Promise<HoldfastError> {
  return explainDivergence(machine, looking(machine.recorded), (callback) => clock.immediate(callback));
}

/**
 * The code waits for something that is not a ctx operation. Where exactly is not known, because that promise is not ours.
 * What is known is where the code last continued. Only what came before that is replayed: the code after it may have
 * unrecorded effects and is not called again.
 */
export async function foreignAwait(parked: Parked, host: Host): Promise<HoldfastError> {
  const { machine, cause } = parked;
  const place = await placeOf(parked, host).catch(() => undefined);
  const where = place ? `, ${place.text}` : "";
  const message = `Workflow "${machine.run.workflow}" is waiting for something that is not a ctx operation, or for nothing at all${where}. Put outside work into ctx.step.`;
  const data = place?.location === undefined ? {} : { location: place.location };
  return new HoldfastError("foreign_await", message, { data, ...(cause === undefined ? {} : { cause }) });
}

interface Place {
  readonly text: string;
  readonly location: string | undefined;
}

async function placeOf(parked: Parked, host: Host): Promise<Place> {
  const { machine, looking, unwritten, definedAt } = parked;
  const [written = []] = await host.store.histories.read({
    runs: [{ namespace: machine.run.namespace, runId: machine.run.runId, afterSeq: 0 }],
    limitPerRun: EVENTS_MAX,
  });
  const events = [...written.filter(({ seq }) => seq < (unwritten[0]?.seq ?? Number.POSITIVE_INFINITY)), ...unwritten];
  const last = events.findLast(({ type }) => eventRole(type) === "delivered");
  if (!last) {
    const text = `before its first ctx operation${definedAt ? ` (the workflow at ${definedAt})` : ""}`;
    return { text, location: definedAt };
  }
  if (last.op === null) return { text: `after ${last.type}`, location: undefined };
  const op = opOf(last) as string;
  const location = await askedAt(looking, host, op, events.slice(0, events.indexOf(last)));
  return { text: `after ${JSON.stringify(op)}${location ? ` at ${location}` : ""}`, location };
}

/** Where the code asks for an op that is pending at that point. */
async function askedAt(
  looking: Parked["looking"],
  { clock }: Host,
  op: string,
  history: readonly HistoryEvent[],
): Promise<string | undefined> {
  if (history.some(({ seq }, index) => seq !== index + 1)) return undefined;
  const second = await replayHistory(looking(history), (callback) => clock.immediate(callback));
  return second.pendingOps().find(({ id }) => id === op)?.location;
}
