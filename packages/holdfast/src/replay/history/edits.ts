/** Outcomes that whoever forked a run has decided: each is delivered when the code asks for its op, which is not executed. */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import { type EventDraft, type EventMeta, type EventType, type HistoryEvent, opOf } from "../../model/event.ts";
import { opNumber } from "../../model/ids.ts";
import type { Payload } from "../../model/payload.ts";
import type { Codec } from "../../ports/codec.ts";
import type { DrivenOp, OpKind } from "../op.ts";

/** As the payload of `run_forked` has them, by op. */
export type RecordedEdits = Readonly<Record<string, RecordedEdit>>;
export type RecordedEdit = { readonly result?: unknown } | { readonly error: ErrorRecord };

/** How an op of that kind ends, with a result and with an error; null: it cannot. */
const ENDS: Readonly<Record<OpKind, readonly [completed: EventType | null, failed: EventType | null]>> = {
  step: ["step_completed", "step_failed"],
  task: ["task_completed", "task_failed"],
  child: ["child_completed", "child_failed"],
  message: ["message_sent", "message_failed"],
  sleep: ["timer_fired", null],
  receive: ["signal_received", null],
  condition: [null, null],
  lock: [null, null],
  retired: [null, null],
};

interface Edit {
  readonly payload?: Payload;
  readonly error?: ErrorRecord;
}

export class Edits {
  readonly #edits = new Map<string, Edit>();
  /** What each fork of this history has decided, and from which event on that counts: until the next fork. */
  readonly #decided: { readonly from: number; readonly ops: ReadonlySet<string> }[] = [];

  /** Those of the last fork that were not delivered yet. Throws if they cannot be read. */
  constructor(history: readonly HistoryEvent[], codec: Codec) {
    for (const event of history) {
      if (event.type === "run_forked") this.#add(event, codec);
      else if (event.meta?.edited) this.#edits.delete(opOf(event) as string);
    }
  }

  /** Those of an earlier fork were for that one. */
  #add({ seq, payload }: HistoryEvent, codec: Codec): void {
    this.#edits.clear();
    const edits = payload === undefined ? {} : (codec.decode(payload) as RecordedEdits);
    for (const [op, edit] of Object.entries(edits)) this.#edits.set(op, encoded(op, edit, codec));
    this.#decided.push({ from: seq, ops: new Set(this.#edits.keys()) });
  }

  /**
   * Whether the outcome of the op was decided, delivered or not, when that event was recorded. Which number a signal got depends on it,
   * and must not on what a later fork has decided, or leaves open again.
   */
  decides(op: string, seq: number): boolean {
    return this.#decided.findLast(({ from }) => from < seq)?.ops.has(op) ?? false;
  }

  has(op: string): boolean {
    return this.#edits.has(op);
  }

  /** The value or the error of something that is recorded at once. */
  take(op: string): Edit | undefined {
    const edit = this.#edits.get(op);
    this.#edits.delete(op);
    return edit;
  }

  /** What is to be delivered next. Throws if an op cannot end in the way that was asked for. */
  next(pending: () => readonly DrivenOp[]): EventDraft | undefined {
    if (this.#edits.size === 0) return undefined;
    for (const op of pending()) {
      const edit = this.#edits.get(op.id);
      if (edit) return outcome(op, edit);
    }
    return undefined;
  }
}

function encoded(op: string, edit: RecordedEdit, codec: Codec): Edit {
  if ("error" in edit) return { error: edit.error };
  return edit.result === undefined ? {} : { payload: codec.encode(edit.result, `edited result of "${op}"`) };
}

function outcome({ id, kind, signalName, task }: DrivenOp, { payload, error }: Edit): EventDraft {
  const [completed, failed] = ENDS[kind];
  const type = error ? failed : completed;
  if (type === null) throw cannotEnd(id, kind, error !== undefined);
  const op = kind === "receive" ? (signalName as string) : id;
  const status = kind === "child" ? ({ status: "failed" } as const) : {};
  const named = error && task ? { ...error, task: task.spec.name } : error;
  const number = kind === "receive" ? opNumber(id) : 1;
  const receive = number === 1 ? {} : { receive: number };
  const meta: EventMeta = named ? { error: named, ...status, edited: true } : { ...receive, edited: true };
  return payload === undefined || kind === "sleep" ? { type, op, meta } : { type, op, payload, meta };
}

function cannotEnd(op: string, kind: OpKind, fails: boolean): HoldfastError {
  const words = kind === "condition" ? "a condition" : `a ${kind}`;
  const message = `The fork gives op "${op}" ${fails ? "an error" : "a result"}, but that is ${words}, which cannot end in that way. Fork again with another edit.`;
  return new HoldfastError("fork_refused", message, { data: { op, kind } });
}
