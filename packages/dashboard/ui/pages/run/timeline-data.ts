// The ops of the run as they are now: all of them first, then what follows.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Timeline } from "../../../src/api/api-messages.ts";
import { readApi, within } from "../../api/api-client.ts";
import type { ApiError } from "../../api/api-error.ts";
import { runTopic, useLive, useLiveState } from "../../api/live.ts";
import { LOST_POLL_MS, type Read, useNamespace } from "../../api/reads.ts";
import { mergedOps, opsOf, type TimelineOp } from "./timeline-ops.ts";

export interface TimelineData {
  readonly head: Timeline;
  readonly ops: readonly TimelineOp[];
}

/** Above this many ops, only the difference is read. Below it all of them are: then the critical path is right at once. */
const WHOLE_OPS = 1000;

export function useTimeline(runId: string): Read<TimelineData> {
  const namespace = useNamespace();
  const client = useQueryClient();
  const queryKey = [namespace, "timeline", runId];
  const lost = useLiveState() === "lost";
  const read = useQuery<TimelineData, ApiError>({
    queryKey,
    structuralSharing: false,
    ...(lost ? { refetchInterval: LOST_POLL_MS } : {}),
    queryFn: async ({ signal }) => {
      const old = client.getQueryData<TimelineData>(queryKey);
      const since = old !== undefined && old.ops.length > WHOLE_OPS ? old.head.seq : undefined;
      const path = within(namespace, "runs", runId, "timeline");
      const head = await readApi<Timeline>(path, { since }, signal);
      const ops = opsOf(head);
      return { head, ops: head.partial && old !== undefined ? mergedOps(old.ops, ops) : ops };
    },
  });
  useLive([runTopic(runId)], (hint) => {
    const head = client.getQueryData<TimelineData>(queryKey)?.head;
    // The first hint of a stream says where the run stands: often that is known already.
    if (head !== undefined && hint.seq === head.seq && hint.status === head.status) return;
    void client.invalidateQueries({ queryKey });
  });
  return read;
}
