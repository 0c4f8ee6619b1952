/** What events say of their ops besides what happened: when they were asked for, and where they ran. */
import { inputHash } from "../calls/input-hash.ts";
import { type EventCategory, eventCategory, eventRole, type HistoryEvent } from "../model/event.ts";
import type { RetryPolicy } from "../model/retry-policy.ts";

/** Ops of these categories say what the code had seen when it asked for them. */
const TELLING: ReadonlySet<EventCategory> = new Set(["step", "child", "message"]);

/** What is known of an op besides what became of it. */
export interface OpOrigin {
  /**
   * The event that made the code ask for it: 0 for the start of the run. When that event was, it could begin at the earliest.
   * Follow it from op to op to find the critical path.
   */
  readonly after?: number;
  readonly askedAt?: Date;
  /** The name of the worker that its last attempt ran on; not known of tasks. */
  readonly worker?: string;
  /** The call of `ctx.parallel` or `ctx.race` that it belongs to (`parallel#2`), and its branch there. */
  readonly group?: string;
  readonly branch?: string;
  /** How failed attempts are repeated: known of tasks, and of steps once an attempt has failed. */
  readonly retry?: RetryPolicy;
  /**
   * The beginning of the SHA-256 of the stored input of a task or a child: equal inputs have the same, unless they are encrypted. Known of a child
   * once its start is recorded.
   */
  readonly inputHash?: string;
}

/** The last event that the code had seen when it asked for the op; undefined if the event is not about such an op. */
export function askedAfter(event: HistoryEvent): number | undefined {
  if (event.op === null || !TELLING.has(eventCategory(event.type))) return undefined;
  return event.meta?.after ?? event.seq - 1;
}

/** Whether it was recorded where the code asked for its op. A signal that was handed on came to a receive that had waited for long. */
function isAsking({ type }: HistoryEvent): boolean {
  return eventRole(type) === "command" && eventCategory(type) !== "signal";
}

/** Whether the event is the end or the start of an attempt of a step, and so ran on a worker. */
function isAttempt({ type }: HistoryEvent): boolean {
  return eventCategory(type) === "step";
}

/** Reads the origins of ops from a history, event by event. */
export class Origins {
  /** The last event that workflow code was given, and its time; for each event of the history. */
  readonly #given: { readonly seq: number; readonly at: number }[];
  #worker: string | undefined;

  /** `startedAt`: the time of event 0. */
  constructor(startedAt: number) {
    this.#given = [{ seq: 0, at: startedAt }];
  }

  /** To be called with every event, in order. */
  of(event: HistoryEvent): OpOrigin {
    const { seq, at, type, meta, payload } = event;
    const asked = askedAfter(event) ?? (isAsking(event) ? seq - 1 : undefined);
    this.#given[seq] = eventRole(type) === "delivered" ? { seq, at } : (this.#given[seq - 1] ?? { seq: 0, at });
    this.#worker = meta?.worker ?? this.#worker;
    const from = asked === undefined ? undefined : this.#given[asked];
    const retry = meta?.retry ?? meta?.task?.retry;
    return {
      ...(from === undefined ? {} : { after: from.seq, askedAt: new Date(from.at) }),
      ...(isAttempt(event) && this.#worker !== undefined ? { worker: this.#worker } : {}),
      ...(meta?.group === undefined ? {} : { group: meta.group, branch: meta.branch as string }),
      ...(retry === undefined ? {} : { retry }),
      ...(type === "task_scheduled" ? { inputHash: inputHash(payload) } : {}),
      ...(meta?.inputHash === undefined ? {} : { inputHash: meta.inputHash }),
    };
  }
}

/**
 * The same events, each attempt with its worker, and each op with what the code had seen when it asked for it. `before` is the
 * worker of the attempt before them.
 */
export function withOrigins(events: readonly HistoryEvent[], before?: string): HistoryEvent[] {
  let worker = before;
  return events.map((event) => {
    worker = event.meta?.worker ?? worker;
    const after = askedAfter(event);
    if (after === undefined) return event;
    const ran = isAttempt(event) && worker !== undefined ? { worker } : {};
    return { ...event, meta: { ...event.meta, after, ...ran } };
  });
}

/** Whether the worker of the first attempt among these events is named by an event before them. */
export function lacksWorker(events: readonly HistoryEvent[]): boolean {
  const first = events.find(isAttempt);
  return first !== undefined && first.meta?.worker === undefined;
}
