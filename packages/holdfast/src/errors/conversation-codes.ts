import type { ErrorCodeInfo } from "./code-info.ts";

/** What can happen between runs. */
export const CONVERSATION_CODES = {
  child_depth_exceeded: {
    group: "workflow_execution",
    caller: "bug",
    kind: "BadRequest",
    summary: "The run is a child of children, 100 levels deep: it cannot have children itself.",
    advice:
      "Look for a workflow that starts itself without end; use a loop or ctx.continueAsNew() instead of recursion.",
  },
  namespace_refused: {
    group: "configuration",
    caller: "conflict",
    kind: "Unauthorized",
    summary: "A run tried to reach a run of another namespace, which has not let in the namespace of the first.",
    advice: "Call hf.namespaces.allow(other) on a client of the namespace that is to be reached.",
  },
} as const satisfies Readonly<Record<string, ErrorCodeInfo>>;
