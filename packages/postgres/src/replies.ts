import { type ReadRepliesParams, type ReplyState, type RunStatus, updateStage } from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import { jsonOf } from "./database/codes.ts";
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { readingCallOf } from "./database/server-call.ts";
import { REFS, type Refs } from "./runs/run-refs.ts";
import { eventOf } from "./runs/run-rows.ts";

export const READ_REPLIES = readingCallOf<ReadRepliesParams & Refs>("read_replies", {
  ...REFS,
  p_message: ({ updates }) => binary.textArray(updates, ({ messageId }) => messageId),
});

const UNKNOWN: ReplyState = { runId: null, status: null, name: null, stage: null, event: null, error: null };

export async function readReplies(server: Server, { updates }: ReadRepliesParams): Promise<readonly ReplyState[]> {
  const states = updates.map(() => UNKNOWN);
  const rows = await server.read(READ_REPLIES, { updates, refs: updates.map(({ run }) => run) });
  for (const row of rows) states[(row.i as number) - 1] = stateOf(row);
  return states;
}

function stateOf(row: Row): ReplyState {
  return {
    runId: row.run_id as string,
    status: row.status as RunStatus,
    name: row.name as string,
    stage: updateStage(row.number as number, row.consumed as number, row.answered as boolean),
    event: row.seq === null ? null : eventOf(row),
    error: jsonOf(row.error),
  };
}
