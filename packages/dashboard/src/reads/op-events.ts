/** What the events say about ops that `steps()` does not: their places in the history, and the attempts that failed. */
import type { EventView, EventWindow, RunHandle } from "holdfast";

export interface OpEvents {
  /** The next event to read. */
  next: number;
  /** By op: its first and its last event. */
  readonly places: Map<string, { readonly first: number; last: number }>;
  /** Which op an event is about, by its seq. */
  readonly opAt: Map<number, string>;
  readonly failures: FailedAttempt[];
}

export interface FailedAttempt {
  readonly op: string;
  readonly seq: number;
  readonly began: number;
  readonly ended: number;
  readonly retry: number | null;
}

const WINDOW = 5_000;
/** Of so many runs the last place is remembered: whoever watches a run reads only what is new. */
const REMEMBERED_MAX = 16;
const remembered = new Map<string, OpEvents>();

/** Of a history that only grows, what was read once is kept. */
export async function opEvents(handle: RunHandle, key: string): Promise<OpEvents> {
  const known = remembered.get(key) ?? { next: 0, places: new Map(), opAt: new Map(), failures: [] };
  for (let from: number | null = known.next; from !== null; ) {
    const window: EventWindow = await handle.history({ from, limit: WINDOW });
    for (const event of window) note(known, event);
    from = window.next;
  }
  remembered.delete(key);
  remembered.set(key, known);
  if (remembered.size > REMEMBERED_MAX) remembered.delete(remembered.keys().next().value as string);
  return known;
}

function note(known: OpEvents, event: EventView): void {
  const { seq, op, type, at, ms = 0, retryAt } = event;
  // Another call may have read it meanwhile. The end of a run is not its last event if it is retried: read it again then.
  if (seq < known.next) return;
  known.next = isEnd(type) ? seq : seq + 1;
  if (op === null) return;
  const name = type === "signal_received" ? receiveOp(event) : op;
  const place = known.places.get(name);
  if (place) place.last = seq;
  else known.places.set(name, { first: seq, last: seq });
  known.opAt.set(seq, name);
  if (type !== "step_attempt_failed") return;
  const ended = at.getTime();
  known.failures.push({ op: name, seq, began: ended - ms, ended, retry: retryAt?.getTime() ?? null });
}

function isEnd(type: string): boolean {
  return /^run_(completed|failed|canceled|terminated|timed_out|continued)$/.test(type);
}

/** As `steps()` names it. */
function receiveOp({ op, receive = 1 }: EventView): string {
  const name = (op as string).startsWith("receive:") ? (op as string) : `receive:${op}`;
  return receive === 1 ? name : `${name}#${receive}`;
}
