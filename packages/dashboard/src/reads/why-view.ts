/** Why a run waits, and the button that resolves it. */
import type { Cause, RunDescription, Why } from "holdfast";
import type { CauseView, Resolution, WhyView } from "../api/run-messages.ts";
import type { Scope } from "./scope.ts";

export async function whyView(scope: Scope, run: RunDescription, why: Why): Promise<WhyView> {
  const { status, reason, dueAt, causes, cancelRequested } = why;
  return {
    status,
    reason,
    dueAt: dueAt?.getTime() ?? null,
    causes: causes.map((cause) => causeView(scope, cause)),
    cancelRequested: cancelRequested && { at: cancelRequested.at.getTime(), reason: cancelRequested.reason },
    resolve: await resolutionOf(scope, run, causes),
  };
}

function causeView(scope: Scope, { at, since, error, cause, limit, ...rest }: Cause): CauseView {
  return {
    ...rest,
    ...(at === undefined ? {} : { at: at.getTime() }),
    ...(since === undefined ? {} : { since: since.getTime() }),
    ...(error === undefined ? {} : { error: scope.values.error(error) }),
    ...(limit === undefined ? {} : { limit: limit as NonNullable<CauseView["limit"]> }),
    ...(cause === undefined ? {} : { cause: causeView(scope, cause) }),
  };
}

/** The first cause that somebody can do something about. */
async function resolutionOf(scope: Scope, run: RunDescription, causes: readonly Cause[]): Promise<Resolution | null> {
  if (run.status === "parked") return { do: "resume", label: "Resume run" };
  if (run.status === "failed") return { do: "retry", label: "Retry run" };
  for (const cause of causes) {
    const found = await resolutionFor(scope, run, cause);
    if (found) return found;
  }
  return null;
}

async function resolutionFor(scope: Scope, run: RunDescription, cause: Cause): Promise<Resolution | undefined> {
  const { kind, op } = cause;
  if (kind === "signal" && op !== undefined) {
    const signal = op.replace(/^receive:/, "").replace(/#\d+$/, "");
    return { do: "signal", label: `Send ${signal}`, signal };
  }
  if (kind === "task" && op !== undefined) {
    const { tasks } = await scope.view.tasks.list({ runId: run.runId, status: "external", limit: 20 });
    return tasks.some((task) => task.op === op) ? { do: "complete-task", label: "Complete task", op } : undefined;
  }
  const other = cause.run?.runId ?? cause.run?.id ?? cause.holders?.[0]?.runId;
  if ((kind === "child" || kind === "lock") && other !== undefined)
    return { do: "open-run", label: kind === "child" ? "Open that run" : "Open its holder", run: other };
  if (kind === "limit" && cause.queue !== undefined)
    return { do: "open-queue", label: "Open queue", queue: cause.queue };
  if (kind === "no_worker" || kind === "lease")
    return { do: "open-workers", label: "Open workers", queue: cause.queue ?? run.queue };
  return undefined;
}
