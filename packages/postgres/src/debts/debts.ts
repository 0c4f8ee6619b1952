import {
  type Debt,
  type PayDebtsParams,
  type ReadDebtsParams,
  type ReplyToTell,
  type ResultReceiver,
  type RunStatus,
  updateStage,
} from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import { jsonOf } from "../database/codes.ts";
import type { Row } from "../database/driver.ts";
import type { Server } from "../database/server.ts";
import { callOf, readingCallOf } from "../database/server-call.ts";
import { withPosition } from "../runs/flush-parts.ts";
import { type Placed, positions } from "../runs/new-tasks.ts";
import { eventOf } from "../runs/run-rows.ts";
import { endedRunOf } from "./ended-run.ts";

export const READ_DEBTS = readingCallOf<ReadDebtsParams>("read_debts", {
  p_namespace: ({ runs }) => (runs ? binary.textArray(runs, ({ namespace }) => namespace) : null),
  p_run: ({ runs }) => (runs ? binary.uuidArray(runs, ({ runId }) => runId) : null),
  p_limit: ({ limit }) => limit,
});

/** The subject of a call to pay_debts. */
interface Payment extends PayDebtsParams {
  readonly watchers: readonly Placed<ResultReceiver>[];
  readonly children: readonly Placed<string>[];
  readonly replies: readonly Placed<string>[];
}

export const PAY_DEBTS = callOf<Payment>(
  "pay_debts",
  {
    p_namespace: ({ debts }) => binary.textArray(debts, ({ namespace }) => namespace),
    p_run: ({ debts }) => binary.uuidArray(debts, ({ runId }) => runId),
    p_no: ({ debts }) => binary.timeArray(debts, ({ debtNo }) => debtNo),
    w_i: ({ watchers }) => positions(watchers),
    w_run: ({ watchers }) => binary.uuidArray(watchers, ({ item: { runId } }) => runId),
    w_op: ({ watchers }) => binary.textArray(watchers, ({ item: { op } }) => op),
    c_i: ({ children }) => positions(children),
    c_run: ({ children }) => binary.uuidArray(children, ({ item: runId }) => runId),
    r_i: ({ replies }) => positions(replies),
    r_message: ({ replies }) => binary.textArray(replies, ({ item: messageId }) => messageId),
  },
  "c as paid",
);

export async function readDebts(server: Server, params: ReadDebtsParams): Promise<readonly Debt[]> {
  return (await server.read(READ_DEBTS, params)).map(debtOf);
}

function debtOf(row: Row): Debt {
  const about = {
    debtNo: row.debt_no as number,
    namespace: row.namespace as string,
    runId: row.run_id as string,
    id: row.id as string,
  };
  if (row.kind === "close")
    return { ...about, kind: "close", children: (row.children ?? []) as Extract<Debt, { kind: "close" }>["children"] };
  if (row.kind === "lock") return { ...about, kind: "lock" };
  if (row.kind === "reply") {
    const replies = ((row.replies ?? []) as readonly Row[]).map(replyOf);
    return { ...about, kind: "reply", status: row.status as RunStatus, replies };
  }
  return {
    ...about,
    kind: "result",
    end: endedRunOf(row),
    parent: row.parent as ResultReceiver | null,
    watchers: (row.watchers ?? []) as readonly ResultReceiver[],
  };
}

/** From JSON: bytes are written as base64. */
function replyOf(row: Row): ReplyToTell {
  const error = bytesOf(row.error);
  const event = row.seq === null ? null : eventOf({ ...row, payload: bytesOf(row.payload), meta: bytesOf(row.meta) });
  return {
    messageId: row.message_id as string,
    name: row.name as string,
    to: row.to as ReplyToTell["to"],
    stage: updateStage(row.number as number, row.consumed as number, event !== null || error !== null),
    event,
    error: jsonOf(error),
  };
}

function bytesOf(base64: unknown): Uint8Array | null {
  return base64 === null ? null : new Uint8Array(Buffer.from(base64 as string, "base64"));
}

export function paymentOf({ debts }: PayDebtsParams): Payment {
  return {
    debts,
    watchers: withPosition(debts, ({ watchers }) => watchers),
    children: withPosition(debts, ({ children }) => children),
    replies: withPosition(debts, ({ replies }) => replies),
  };
}

export async function payDebts(server: Server, params: PayDebtsParams): Promise<{ readonly paid: number }> {
  const row = await server.writeOne(PAY_DEBTS, paymentOf(params));
  return { paid: row.paid as number };
}
