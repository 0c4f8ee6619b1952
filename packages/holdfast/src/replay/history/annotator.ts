import type { EventDraft, EventMeta } from "../../model/event.ts";
import { WORKER_NAMED_EVERY } from "../../model/event-meta.ts";
import type { Op, OpKind } from "../op.ts";

/** Ops of these kinds leave no event where the code asks for them. */
const UNASKED: ReadonlySet<OpKind> = new Set(["step", "child", "message"]);

/**
 * What an event of an op says besides what has happened, for people: what the code had seen when it asked for the op, in which
 * branch that was, and which worker it ran on. Replay reads none of it. What goes without saying is not written: an op that was
 * asked for after the event directly before, and a worker that one of the last events of the same hold has named.
 */
export class Annotator {
  readonly #worker: string | undefined;
  /** The worker is named by the first step from this place on. */
  #nameFrom = 0;

  constructor(worker: string | undefined) {
    this.#worker = worker;
  }

  /** `seq` is the place that the event will have. */
  annotate(draft: EventDraft, op: Op, seq: number): EventDraft {
    const { kind, askedSeq, scope } = op;
    const late = askedSeq !== seq - 1 && UNASKED.has(kind);
    const named = kind === "step" && !draft.meta?.edited && seq >= this.#nameFrom;
    const worker = named ? this.#worker : undefined;
    if (!late && worker === undefined && scope.branch === null) return draft;
    if (worker !== undefined) this.#nameFrom = seq + WORKER_NAMED_EVERY;
    // Every event of a run that does much at once comes here: spreads of objects that are made for it would cost several times as much.
    const meta: { -readonly [Key in keyof EventMeta]: EventMeta[Key] } = { ...draft.meta };
    if (late) meta.after = askedSeq;
    if (worker !== undefined) meta.worker = worker;
    if (scope.branch !== null) Object.assign(meta, scope.branch);
    const { type, op: id, payload } = draft;
    return payload === undefined ? { type, op: id, meta } : { type, op: id, payload, meta };
  }
}
