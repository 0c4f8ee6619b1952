/** What the judge of steps and the judge of tasks have in common: the lines of executions, and the tokens of results. */
import { jsonCodec } from "holdfast";
import type { HistoryEvent } from "holdfast/adapter";
import type { EffectLine } from "./effects-file.ts";
import type { Report } from "./finding.ts";

/** A busy machine may take this long between the engine's check of its lease and the first line of a step. */
const LATE_MS_ALLOWED = 150;

/** An execution may not begin too often, before what its code had seen is durable, or after the lease of its process. */
export function judgeBegin(
  line: EffectLine,
  earlier: readonly EffectLine[],
  recorded: ReadonlySet<string>,
  report: Report,
): void {
  const begun = earlier.some(({ phase, op }) => phase === "begin" && op === line.op);
  if (line.once && begun) report("repeated", "began again, but may begin only once");
  const unseen = (line.seen ?? []).filter((token) => !recorded.has(token));
  if (unseen.length > 0) report("early", `had seen ${unseen.join(", ")}, which is not in history`);
  if ((line.lateMs ?? 0) > LATE_MS_ALLOWED) report("late", `began ${line.lateMs} ms after its lease expired`);
}

/** What code may have seen of an event. */
export function tokensOf(event: HistoryEvent): string[] {
  if (event.type === "timer_fired") return [`timer:${event.op}`];
  const token = tokenOf(event);
  return token === undefined ? [] : [token];
}

/** Events whose payload, if it is an object, has a token. */
const WITH_TOKEN: readonly string[] = [
  "step_completed",
  "task_completed",
  "signal_received",
  "child_completed",
  "message_sent",
  "update_accepted",
];

export function tokenOf({ type, payload, meta }: HistoryEvent): string | undefined {
  if (WITH_TOKEN.includes(type)) {
    if (payload === undefined || payload.length === 0) return undefined;
    return (jsonCodec.decode(payload) as { token?: string } | null)?.token;
  }
  return /\[(\d+\.\d+\.\d+)\]$/.exec(meta?.error?.message ?? "")?.[1];
}

/** Whether it is the token of an execution in a worker process. */
export function isExecution(token: string | undefined): token is string {
  return token !== undefined && /^\d+\.\d+\.\d+$/.test(token);
}

export function epochOf(token: string): number {
  return Number(token.split(".").at(-1));
}
