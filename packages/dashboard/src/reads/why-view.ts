/** Why a run waits, and the button that resolves it. */
import type { Cause, ErrorView, RunDescription, Why } from "holdfast";
import { plainWords } from "../answers/plain-words.ts";
import type { CauseView, ErrorShown, Resolution, WhyView } from "../api/run-messages.ts";
import { errorLine, otherRunOf, otherRunWords, personWords } from "./error-texts.ts";
import { mayBeRetried } from "./run-actions.ts";
import type { Scope } from "./scope.ts";

export async function whyView(scope: Scope, run: RunDescription, why: Why): Promise<WhyView> {
  const { status, dueAt, causes, cancelRequested } = why;
  return {
    status,
    reason: reasonFor(scope, run, why),
    dueAt: dueAt?.getTime() ?? null,
    causes: causes.map((cause) => causeView(scope, cause)),
    cancelRequested: cancelRequested && { at: cancelRequested.at.getTime(), reason: cancelRequested.reason },
    otherRun: (run.error && otherRunOf(run.error)) ?? null,
    resolve: await resolutionOf(scope, run, causes),
  };
}

/** As people at this page need it: the engine speaks of calls where they have buttons. */
function reasonFor(scope: Scope, run: RunDescription, { reason, causes }: Why): string {
  const ended = endedReason(scope, run);
  if (ended !== undefined) return ended;
  // What an error says is redacted wherever it is told.
  const errors = [run.error, ...causes.map(({ error }) => error)].filter((error) => error != null);
  const shown = errors.reduce(
    (text, error) => text.replaceAll(error.message, scope.values.error(error).message),
    reason,
  );
  // Nobody needs the milliseconds of minutes.
  return plainWords(shown).replace(/\b(\d+m \d+s) \d+ms\b/g, "$1");
}

const ENDED: Readonly<Partial<Record<RunDescription["status"], string>>> = {
  completed: "Completed",
  failed: "Failed",
  canceled: "Canceled",
  terminated: "Terminated",
  timed_out: "Timed out",
};
const UNDONE = {
  compensated: " What it had done was undone.",
  compensation_failed: " Not everything was undone: a compensation failed. The tab Compensation shows which.",
};

/** How it ended, and whether what it had done was undone. */
function endedReason({ values }: Scope, { status, error, compensation }: RunDescription): string | undefined {
  const word = ENDED[status];
  if (word === undefined) return undefined;
  if (status === "completed") return "Completed.";
  const told = error ? toldOf(word, error, values.error(error), status) : word;
  const end = /[.!?…]$/.test(told) ? "" : ".";
  const again = compensation === "compensation_failed" && status === "failed" ? " A retry repeats it." : "";
  return `${told}${end}${compensation === null ? "" : (UNDONE[compensation] ?? "")}${again}`;
}

function toldOf(word: string, error: ErrorView, shown: ErrorShown, status: RunDescription["status"]): string {
  const person = personWords(error, status);
  if (person !== "") return person.startsWith("by ") ? `${word} ${person}` : `${word}: ${person}`;
  const { op, attempts = 1 } = error;
  const often = attempts > 1 ? ` after ${attempts} attempts` : "";
  return `${word}${op === undefined ? "" : ` in ${op}`}${often}: ${otherRunWords(error, shown) ?? errorLine(error, shown.message)}`;
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
  if (mayBeRetried(run.status, run.compensation)) return { do: "retry", label: "Retry run" };
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
