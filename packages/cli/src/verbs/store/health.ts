import type { Client, Health } from "holdfast";
import type { Call } from "../../command/call.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { statusColor } from "../../output/paint.ts";
import { redrawEvery } from "../../output/screen.ts";
import { relativeTime, shortDuration } from "../../output/times.ts";
import { harmless } from "../../output/width.ts";

const WATCH_MS = 2_000;

export const health: Action = async (call) => {
  const hf = await call.open();
  if (!call.flag("watch")) return showHealth(call, hf);
  return redrawEvery(call, WATCH_MS, async () => void (await showHealth(call, hf)));
};

async function showHealth(call: Call, hf: Client): Promise<number> {
  const answer = await hf.health();
  const { out, io } = call;
  out.record(answer);
  out.line(`${mark(call, answer.status)} ${out.paint.bold(statusColor(out.paint, answer.status))}`);
  for (const reason of answer.reasons) out.line(`  ${out.paint.yellow("!")} ${harmless(reason)}`);
  out.line();
  const { store, workers, schedules, leader } = answer;
  const latency =
    store.p50Ms === null ? "" : `, p50 ${shortDuration(store.p50Ms)}, p99 ${shortDuration(store.p99Ms ?? store.p50Ms)}`;
  out.facts([
    ["store", `${statusColor(out.paint, store.status)}${latency}`],
    ["workers", workers.length === 0 ? "none" : workers.map((worker) => workerText(call, worker)).join("\n")],
    [
      "leader",
      leader === null
        ? "none: nobody fires schedules"
        : `${leader.workerId}, since ${relativeTime(leader.since, io.now())}`,
    ],
    ["failing schedules", schedules.map(({ id, failures }) => `${id}: ${failures} in a row`).join("\n")],
  ]);
  return answer.status === "unhealthy" ? EXIT.unreachable : EXIT.done;
}

function mark({ out: { paint } }: Call, status: Health["status"]): string {
  return statusColor(paint, status, status === "healthy" ? "✓" : status === "degraded" ? "!" : "✗");
}

function workerText(
  { out: { paint } }: Call,
  { name, health: state, heartbeatAgeMs, activeRuns }: Health["workers"][number],
): string {
  return `${name} ${statusColor(paint, state)}${paint.dim(`, heartbeat ${shortDuration(heartbeatAgeMs)} ago, ${activeRuns} runs`)}`;
}
