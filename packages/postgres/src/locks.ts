import type { ListLocksParams, LockAnswer, LockRequest, PassLocksParams, PassLocksResult } from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import type { Server } from "./database/server.ts";
import { callOf, readingCallOf } from "./database/server-call.ts";

interface Passing extends PassLocksParams {
  readonly notify: boolean;
}

export const PASS_LOCKS = callOf<Passing>("pass_locks", {
  a_namespace: ({ asks }) => binary.textArray(asks, ({ namespace }) => namespace),
  a_run: ({ asks }) => binary.uuidArray(asks, ({ runId }) => runId),
  a_seq: ({ asks }) => binary.int4Array(asks, ({ seq }) => seq),
  a_epoch: ({ asks }) => binary.int4Array(asks, ({ epoch }) => epoch),
  b_namespace: ({ givenBackBy }) => binary.textArray(givenBackBy, ({ namespace }) => namespace),
  b_run: ({ givenBackBy }) => binary.uuidArray(givenBackBy, ({ runId }) => runId),
  p_notify: ({ notify }) => notify,
});

export const LIST_LOCKS = readingCallOf<ListLocksParams>("list_locks", {
  p_namespace: ({ namespace }) => namespace,
  p_name: ({ of }) => ("name" in of ? of.name : null),
  p_run: ({ of }) => ("runId" in of ? of.runId : null),
  p_limit: ({ limit }) => limit,
});

const OUTCOMES: Readonly<Record<string, LockAnswer["outcome"]>> = { g: "granted", w: "waiting", x: "gone", b: "busy" };

export async function passLocks(server: Server, params: PassLocksParams): Promise<PassLocksResult> {
  const row = await server.writeOne(PASS_LOCKS, { ...params, notify: server.notify });
  const fences = (row.o_fence ?? []) as readonly (number | null)[];
  const answers = [...((row.o_outcome ?? "") as string)].map((letter, i): LockAnswer => {
    const outcome = OUTCOMES[letter] as LockAnswer["outcome"];
    return { outcome, fence: outcome === "granted" ? Number(fences[i]) : null };
  });
  return { answers, passed: row.o_passed as readonly boolean[] };
}

export async function listLocks(server: Server, params: ListLocksParams): Promise<readonly LockRequest[]> {
  return (await server.read(LIST_LOCKS, params)).map((row) => ({
    runId: row.run_id as string,
    id: row.id as string,
    seq: row.seq as number,
    op: row.op as string,
    name: row.name as string,
    limit: row.places as number,
    fence: row.fence === null ? null : Number(row.fence),
  }));
}
