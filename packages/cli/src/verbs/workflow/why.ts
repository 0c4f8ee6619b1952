import type { Cause } from "holdfast";
import type { Call } from "../../command/call.ts";
import type { Action } from "../../command/verb.ts";
import { statusColor } from "../../output/paint.ts";
import { fullTime } from "../../output/times.ts";
import { harmless } from "../../output/width.ts";

export const why: Action = async (call) => {
  const hf = await call.open();
  const id = call.argument("id");
  const answer = await hf.why(id);
  call.out.record({ id, ...answer });
  call.out.line(`${call.out.paint.bold(id)}  ${statusColor(call.out.paint, answer.status)}`);
  call.out.line();
  call.out.line(harmless(answer.reason));
  if (answer.causes.length > 0 && answer.causes[0]?.kind !== "ended") {
    call.out.line();
    for (const cause of answer.causes) showCause(call, cause, 0);
  }
  return undefined;
};

function showCause(call: Call, cause: Cause, depth: number): void {
  const { paint } = call.out;
  const now = call.io.now();
  const parts = [
    cause.op,
    cause.attempt === undefined
      ? undefined
      : `attempt ${cause.attempt}${cause.attempts === undefined ? "" : ` of ${cause.attempts}`}`,
    cause.worker === undefined ? undefined : `worker ${cause.worker}`,
    cause.queue === undefined ? undefined : `queue ${cause.queue}`,
    cause.run?.id === undefined ? undefined : `run ${cause.run.id}`,
    cause.at === undefined ? undefined : `due ${fullTime(cause.at, now)}`,
    cause.since === undefined ? undefined : `since ${fullTime(cause.since, now)}`,
    cause.circle === undefined ? undefined : `circle ${cause.circle.join(" → ")}`,
    cause.error?.message,
  ].filter((part) => part !== undefined);
  call.out.line(
    `${"  ".repeat(depth)}${paint.dim("•")} ${paint.cyan(cause.kind.replaceAll("_", " "))} ${harmless(parts.join(", "))}`,
  );
  if (cause.cause) showCause(call, cause.cause, depth + 1);
}
