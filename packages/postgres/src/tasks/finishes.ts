import type { FinishOutcome, FinishTask, FinishTasksParams, FinishTasksResult, TaskResult } from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import type { Server } from "../database/server.ts";
import { callOf } from "../database/server-call.ts";
import { KEYS, type Keys } from "./task-rows.ts";

interface Finishing extends FinishTasksParams, Keys {
  readonly failures: readonly (Uint8Array | null)[];
  readonly notify: boolean;
}

export const FINISH_TASKS = callOf<Finishing>("finish_tasks", {
  ...KEYS,
  p_namespace: ({ finishes }) => binary.textArray(finishes, ({ namespace }) => namespace),
  p_epoch: ({ finishes }) => binary.int4Array(finishes, ({ epoch }) => epoch),
  p_by: ({ finishes }) => binary.charArray(finishes, ({ by }) => BY[by.type]),
  p_worker: ({ finishes }) =>
    binary.sparse(binary.uuidArray, finishes, ({ by }) => (by.type === "holder" ? by.workerId : null)),
  p_secret: ({ finishes }) =>
    binary.sparse(binary.secretArray, finishes, ({ by }) => (by.type === "token" ? by.secret : null)),
  p_finish: ({ finishes }) =>
    binary.sparse(binary.textArray, finishes, ({ by }) => (by.type === "token" ? by.finishId : null)),
  p_result: ({ finishes }) => binary.charArray(finishes, ({ result }) => letterOf(result)),
  p_payload: ({ finishes }) => binary.sparse(binary.byteaArray, finishes, payloadOf),
  p_delay: ({ finishes }) => binary.sparse(binary.timeArray, finishes, ({ result }) => delayOf(result)),
  p_suspect: ({ finishes }) =>
    binary.sparse(binary.int4Array, finishes, ({ result }) => (result.type === "died" ? result.suspectAfter : null)),
  p_park: ({ finishes }) =>
    binary.sparse(binary.int4Array, finishes, ({ result }) => (result.type === "died" ? result.parkAfter : null)),
  p_failures: ({ failures }) => binary.sparse(binary.byteaArray, failures),
  p_notify: ({ notify }) => notify,
});

export function finishingOf(params: FinishTasksParams, notify: boolean): Finishing {
  const { finishes } = params;
  return { finishes, keys: finishes, failures: finishes.map(failuresOf), notify };
}

export async function finishTasks(server: Server, params: FinishTasksParams): Promise<FinishTasksResult> {
  const row = await server.writeOne(FINISH_TASKS, finishingOf(params, server.notify));
  const letters = [...((row.o_outcome ?? "") as string)];
  return { outcomes: letters.map((letter) => OUTCOMES[letter] as FinishOutcome), now: row.o_now as number };
}

const BY = { holder: "h", token: "t", expiry: "e", order: "o" } as const;
const RESULTS = { completed: "c", failed: "f", retry: "r", release: "l", died: "d", external: "x" } as const;

const OUTCOMES: Readonly<Record<string, FinishOutcome>> = {
  d: { outcome: "done" },
  l: { outcome: "lost" },
  c: { outcome: "closed" },
  b: { outcome: "busy" },
};

function letterOf(result: TaskResult): string {
  if (result.type === "failed" && result.keep) return "k";
  return result.type === "died" && result.alone ? "a" : RESULTS[result.type];
}

function delayOf(result: TaskResult): number | null {
  return result.type === "retry" || result.type === "release" ? (result.delayMs ?? null) : null;
}

function payloadOf({ result }: FinishTask): Uint8Array | null {
  return result.type === "completed" || result.type === "failed" ? result.payload : null;
}

function failuresOf({ result }: FinishTask): Uint8Array | null {
  if (!("failures" in result)) return null;
  return result.failures.length === 0 ? null : Buffer.from(JSON.stringify(result.failures));
}
