import type { UpdateReply } from "../../calls/run-ends.ts";
import type { HistoryEvent } from "../../model/event.ts";
import { NONE } from "../../model/short-list.ts";
import type { NewReply, RunCommit } from "../../ports/store.ts";
import type { Machine } from "../../replay/machine.ts";
import { type RefusedUpdate, refusedIn } from "../execute/updates.ts";

/** What a commit with these events decides about updates. An answer in the same commit says more than the acceptance. */
export function repliesOf(events: readonly HistoryEvent[], refused: readonly RefusedUpdate[]): readonly NewReply[] {
  const replies = new Map<number, NewReply>();
  for (const { type, seq, meta } of events) {
    if (meta?.number === undefined) continue;
    if (type === "update_accepted") replies.set(meta.number, { number: meta.number });
    else if (type === "update_completed") replies.set(meta.number, { number: meta.number, seq });
  }
  return replies.size + refused.length === 0 ? NONE : [...replies.values(), ...refused];
}

/** The same for callers in this process, once the commit is durable. */
export function repliesIn({ runId, events, replies = NONE }: RunCommit, machine: Machine): UpdateReply[] {
  const told: UpdateReply[] = [];
  for (const event of events) {
    const { type, op, meta } = event;
    if (type !== "update_accepted" && type !== "update_completed") continue;
    const about = { runId, messageId: machine.updateId(meta?.number ?? 0) ?? "" };
    if (type === "update_accepted") told.push({ ...about, stage: "accepted" });
    else told.push({ ...about, stage: "answered", event: machine.answerOf(op) ?? event });
  }
  for (const reply of refusedIn(replies)) {
    const { messageId, error } = reply;
    told.push({ runId, messageId, stage: "answered", error });
  }
  return told;
}
