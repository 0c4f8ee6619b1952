import type {
  BeatTasksParams,
  BeatTasksResult,
  CancelTasksParams,
  CancelTasksResult,
  ExpiredTasksResult,
} from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import type { Server } from "../database/server.ts";
import { callOf, queryOf } from "../database/server-call.ts";
import { isLockConflict } from "../errors.ts";
import { KEYS, type Keys, taskOf } from "./task-rows.ts";

interface Beating extends BeatTasksParams, Keys {
  /** Skip rows that another transaction has locked. */
  readonly skip: boolean;
}

export const BEAT_TASKS = callOf<Beating>("beat_tasks", {
  ...KEYS,
  p_skip: ({ skip }) => skip,
  p_namespace: ({ beats }) => binary.textArray(beats, ({ namespace }) => namespace),
  p_epoch: ({ beats }) => binary.int4Array(beats, ({ epoch }) => epoch),
  p_worker: ({ beats }) =>
    binary.sparse(binary.uuidArray, beats, ({ by }) => (by.type === "holder" ? by.workerId : null)),
  p_secret: ({ beats }) =>
    binary.sparse(binary.secretArray, beats, ({ by }) => (by.type === "token" ? by.secret : null)),
  p_details: ({ beats }) => binary.sparse(binary.byteaArray, beats, ({ details }) => details),
});

export const CANCEL_TASKS = callOf<CancelTasksParams & Keys & { readonly notify: boolean }>("cancel_tasks", {
  ...KEYS,
  p_namespace: ({ namespace }) => namespace,
  p_notify: ({ notify }) => notify,
});

export const EXPIRED_TASKS = queryOf<{ readonly limit: number }>(
  "expired_tasks",
  (at) => `
    with clock as materialized (select ${at}.now_ms() as now)
    select c.now, v.*,
           (select t.expires_at from ${at}.tasks t where t.expires_at > c.now order by t.expires_at limit 1) as next_expiry_at
      from clock c
      left join lateral (select t.run_id, t.seq from ${at}.tasks t where t.expires_at <= c.now
                          order by t.expires_at limit $limit) k on true
      left join ${at}.task_rows v on v.run_id = k.run_id and v.seq = k.seq
     order by v.expires_at`,
  { limit: ({ limit }) => limit },
);

export async function beatTasks(server: Server, params: BeatTasksParams): Promise<BeatTasksResult> {
  const send = (skip: boolean) => server.writeOne(BEAT_TASKS, { ...params, keys: params.beats, skip });
  const row = await send(false).catch((error) => {
    // Another transaction has locked one of the rows: repeat the call without the locked ones.
    if (!isLockConflict(error)) throw error;
    return send(true);
  });
  const letters = [...((row.o_outcome ?? "") as string)];
  return {
    outcomes: letters.map((letter) => ({
      outcome: letter === "l" || letter === "g" ? "lost" : "heard",
      canceled: letter === "c" || letter === "g",
    })),
    now: row.o_now as number,
  };
}

type CancelOutcome = CancelTasksResult["outcomes"][number]["outcome"];

const CANCELED: Readonly<Record<string, CancelOutcome>> = {
  w: "waiting",
  n: "never_began",
  s: "stopped",
  g: "gone",
  b: "busy",
};

export async function cancelTasks(server: Server, params: CancelTasksParams): Promise<CancelTasksResult> {
  const row = await server.writeOne(CANCEL_TASKS, { ...params, keys: params.tasks, notify: server.notify });
  const letters = [...((row.o_outcome ?? "") as string)];
  return { outcomes: letters.map((letter) => ({ outcome: CANCELED[letter] as CancelOutcome })) };
}

export async function expiredTasks(server: Server, params: { readonly limit: number }): Promise<ExpiredTasksResult> {
  const rows = await server.read(EXPIRED_TASKS, params);
  const tasks = rows.filter((row) => row.run_id !== null).map(taskOf);
  return { tasks, now: rows[0]?.now as number, nextExpiryAt: rows[0]?.next_expiry_at as number | null };
}
