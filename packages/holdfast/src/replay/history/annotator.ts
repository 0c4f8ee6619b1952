import type { EventDraft, EventMeta } from "../../model/event.ts";
import type { Op, OpKind } from "../op.ts";

/** Ops of these kinds leave no event where the code asks for them. */
const UNASKED: ReadonlySet<OpKind> = new Set(["step", "child", "message"]);

/**
 * What an event of an op says besides what has happened, for people: what the code had seen when it asked for the op, in which
 * branch that was, and which worker it ran on. Replay reads none of it. What goes without saying is not written: an op that was
 * asked for after the event directly before, and a worker that an earlier event of the same hold has named.
 */
export class Annotator {
  #worker: string | undefined;

  constructor(worker: string | undefined) {
    this.#worker = worker;
  }

  /** `seq` is the place that the event will have. */
  annotate(draft: EventDraft, op: Op, seq: number): EventDraft {
    const { kind, askedSeq, scope } = op;
    const late = askedSeq !== seq - 1 && UNASKED.has(kind);
    const worker = kind === "step" && !draft.meta?.edited ? this.#worker : undefined;
    if (!late && worker === undefined && scope.branch === null) return draft;
    if (worker !== undefined) this.#worker = undefined;
    const meta: EventMeta = {
      ...draft.meta,
      ...(late ? { after: askedSeq } : {}),
      ...(worker === undefined ? {} : { worker }),
      ...scope.branch,
    };
    return { ...draft, meta };
  }
}
