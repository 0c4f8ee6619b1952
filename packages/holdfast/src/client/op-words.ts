/** Ops of a run in words, for the person on call. */
import {
  ASK_PREFIX,
  afterPrefix,
  LOCK_PREFIX,
  RECEIVE_PREFIX,
  RESULT_PREFIX,
  UNTIL_PREFIX,
  UPDATE_PREFIX,
} from "../model/ids.ts";
import type { StepView } from "./step-view.ts";

/** What a run waits for if it waits for this op. */
export function opWords(op: string, kind?: StepView["kind"]): string {
  if (op.startsWith(RECEIVE_PREFIX)) return `signal "${afterPrefix(op, RECEIVE_PREFIX)}"`;
  if (op.startsWith(UNTIL_PREFIX)) return `a condition ("${op}")`;
  if (op.startsWith(UPDATE_PREFIX)) return `the handler of update "${afterPrefix(op, UPDATE_PREFIX)}"`;
  if (op.startsWith(LOCK_PREFIX) && (kind === undefined || kind === "lock"))
    return `lock "${afterPrefix(op, LOCK_PREFIX)}"`;
  if (kind === "child") return `child "${op}"`;
  if (kind !== "message" && kind !== undefined) return `"${op}"`;
  if (op.startsWith(RESULT_PREFIX)) return `the result of run "${afterPrefix(op, RESULT_PREFIX)}"`;
  if (op.startsWith(ASK_PREFIX)) return `the answer to update "${afterPrefix(op, ASK_PREFIX)}"`;
  return kind === "message" ? `message "${op}"` : `"${op}"`;
}

/** `"a", "b" and "c"` */
export function listed(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;
}
