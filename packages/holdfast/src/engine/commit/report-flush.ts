import type { CommitOutcome, RunCommit } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** What a flush has done, added up: a few calls for all of its runs and events. */
export function reportFlush(
  telemetry: Telemetry,
  commits: readonly RunCommit[],
  outcomes: readonly CommitOutcome[],
): void {
  const times = { written: 0, behind: 0, busy: 0, lost: 0 };
  let events = 0;
  let bytes = 0;
  let messages = 0;
  for (const [i, { outcome }] of outcomes.entries()) {
    times[outcome] += 1;
    const commit = commits[i];
    if (outcome !== "written" || !commit) continue;
    events += commit.events.length;
    for (const { payload, meta } of commit.events) {
      if (payload) bytes += payload.length;
      if (meta?.messageId !== undefined) messages += 1;
    }
  }
  telemetry.count("flushes", 1, {});
  for (const [outcome, count] of Object.entries(times)) if (count > 0) telemetry.count("commits", count, { outcome });
  if (events > 0) telemetry.count("flushed_events", events, {});
  if (bytes > 0) telemetry.count("flushed_bytes", bytes, {});
  if (messages > 0) telemetry.count("messages_received", messages, {});
}
