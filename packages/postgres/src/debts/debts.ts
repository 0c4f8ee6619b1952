import type { Debt, PayDebtsParams, ReadDebtsParams, ResultReceiver } from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import type { Row } from "../database/driver.ts";
import type { Server } from "../database/server.ts";
import { callOf, readingCallOf } from "../database/server-call.ts";
import { type Placed, positions } from "../runs/new-tasks.ts";
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
}

export const PAY_DEBTS = callOf<Payment>(
  "pay_debts",
  {
    p_namespace: ({ debts }) => binary.textArray(debts, ({ namespace }) => namespace),
    p_run: ({ debts }) => binary.uuidArray(debts, ({ runId }) => runId),
    p_no: ({ debts }) => binary.timeArray(debts, ({ debtNo }) => debtNo),
    w_i: ({ watchers }) => positions(watchers),
    w_run: ({ watchers }) => binary.uuidArray(watchers, ([, { runId }]) => runId),
    w_op: ({ watchers }) => binary.textArray(watchers, ([, { op }]) => op),
    c_i: ({ children }) => positions(children),
    c_run: ({ children }) => binary.uuidArray(children, ([, runId]) => runId),
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
  return {
    ...about,
    kind: "result",
    end: endedRunOf(row),
    parent: row.parent as ResultReceiver | null,
    watchers: (row.watchers ?? []) as readonly ResultReceiver[],
  };
}

export function paymentOf({ debts }: PayDebtsParams): Payment {
  return {
    debts,
    watchers: debts.flatMap(({ watchers = [] }, i) => watchers.map((watcher) => [i + 1, watcher] as const)),
    children: debts.flatMap(({ children = [] }, i) => children.map((runId) => [i + 1, runId] as const)),
  };
}

export async function payDebts(server: Server, params: PayDebtsParams): Promise<{ readonly paid: number }> {
  const row = await server.writeOne(PAY_DEBTS, paymentOf(params));
  return { paid: row.paid as number };
}
