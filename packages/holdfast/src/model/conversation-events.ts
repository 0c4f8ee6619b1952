import type { EventRow } from "./event-row.ts";

/** The part of the table of events (event.ts) that is about other runs. It only grows, at its end. */
export const CONVERSATION_EVENTS = [
  {
    type: "child_started",
    category: "child",
    role: "delivered",
    op: "op",
    payload: null,
    meta: ["child", "inputHash"],
    shows: "waiting",
    writtenBy: "the executor: the store has created the child of `ctx.child` or `ctx.startChild`",
  },
  {
    type: "child_completed",
    category: "child",
    role: "delivered",
    op: "op",
    payload: "the output of the child",
    meta: ["edited"],
    shows: "completed",
    writtenBy: "the executor: the child has completed",
  },
  {
    type: "child_failed",
    category: "child",
    role: "delivered",
    op: "op",
    payload: null,
    meta: ["status", "error", "compensation", "end", "neverBegan", "withdrawn", "edited"],
    shows: "failed",
    writtenBy: "the executor: the child has ended in any other way, or could not be started (no status)",
  },
  {
    type: "message_sent",
    category: "message",
    role: "delivered",
    op: "op",
    payload: "the answer; for `ctx.resultOf`, the output of the other run",
    meta: ["to", "namespace", "edited"],
    shows: "completed",
    writtenBy:
      "the executor: the store has delivered what `ctx.signal`, `ctx.cancel` or a child's handle sends, or the awaited run has completed",
  },
  {
    type: "message_failed",
    category: "message",
    role: "delivered",
    op: "op",
    payload: null,
    meta: ["to", "namespace", "workflow", "status", "error", "compensation", "edited"],
    shows: "failed",
    writtenBy: "the executor: it could not be delivered, or the awaited run has ended in another way",
  },
] as const satisfies readonly EventRow[];
