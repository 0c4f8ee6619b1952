import type {
  AnswerAsksParams,
  Ask,
  AskAnswer,
  ErrorRecord,
  Payload,
  PutAsksParams,
  ReadAsksParams,
  TakeAsksParams,
  TakeAsksResult,
} from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import { jsonBytes, jsonOf } from "./database/codes.ts";
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { callOf, queryOf } from "./database/server-call.ts";

interface Notifying {
  readonly notify: boolean;
}

export const PUT_ASKS = callOf<PutAsksParams & Notifying>("put_asks", {
  p_ask: ({ asks }) => binary.uuidArray(asks, ({ askId }) => askId),
  p_namespace: ({ asks }) => binary.textArray(asks, ({ namespace }) => namespace),
  p_run: ({ asks }) => binary.uuidArray(asks, ({ runId }) => runId),
  p_workflow: ({ asks }) => binary.textArray(asks, ({ workflow }) => workflow),
  p_version: ({ asks }) => binary.textArray(asks, ({ version }) => version),
  p_name: ({ asks }) => binary.textArray(asks, ({ name }) => name),
  p_payload: ({ asks }) => binary.byteaArray(asks, ({ payload }) => payload),
  p_ttl: ({ asks }) => binary.timeArray(asks, ({ ttlMs }) => ttlMs),
  p_notify: ({ notify }) => notify,
});

export const TAKE_ASKS = callOf<TakeAsksParams>("take_asks", {
  p_namespace: ({ namespace }) => namespace,
  p_workflows: ({ handlers }) => binary.textArray(handlers, ({ workflow }) => workflow),
  p_versions: ({ handlers }) => binary.textArray(handlers, ({ version }) => version),
  p_limit: ({ limit }) => limit,
});

export const ANSWER_ASKS = callOf<AnswerAsksParams & Notifying>("answer_asks", {
  p_namespace: ({ answers }) => binary.textArray(answers, ({ namespace }) => namespace),
  p_ask: ({ answers }) => binary.uuidArray(answers, ({ askId }) => askId),
  p_answer: ({ answers }) =>
    binary.byteaArray(answers, ({ answer }) => (answer.type === "answered" ? answer.payload : null)),
  p_error: ({ answers }) =>
    binary.byteaArray(answers.map(({ answer }) => (answer.type === "failed" ? jsonBytes(answer.error) : null))),
  p_notify: ({ notify }) => notify,
});

const ASKS = {
  p_namespace: ({ asks }: ReadAsksParams) => binary.textArray(asks, ({ namespace }) => namespace),
  p_ask: ({ asks }: ReadAsksParams) => binary.uuidArray(asks, ({ askId }) => askId),
};

export const READ_ASKS = queryOf<ReadAsksParams>(
  "read_asks",
  (at) => `
    select k.i::int as i, a.answer, a.error
      from unnest($p_namespace::text[], $p_ask::uuid[]) with ordinality as k(namespace, ask_id, i)
      join ${at}.asks a on a.ask_id = k.ask_id and a.namespace = k.namespace
     where a.answered and a.gone_at > (select ${at}.now_ms())`,
  ASKS,
);

export const FORGET_ASKS = callOf<ReadAsksParams>("forget_asks", ASKS);

export async function putAsks(server: Server, params: PutAsksParams): Promise<void> {
  await server.write(PUT_ASKS, { ...params, notify: server.notify });
}

export async function takeAsks(server: Server, params: TakeAsksParams): Promise<TakeAsksResult> {
  const rows = await server.write(TAKE_ASKS, params);
  return { asks: rows.map(askOf), more: rows[0]?.more === true };
}

function askOf(row: Row): Ask {
  return {
    askId: row.ask_id as string,
    namespace: row.namespace as string,
    runId: row.run_id as string,
    workflow: row.workflow as string,
    version: row.version as string,
    name: row.name as string,
    payload: row.payload as Payload,
  };
}

export async function answerAsks(server: Server, params: AnswerAsksParams): Promise<void> {
  await server.write(ANSWER_ASKS, { ...params, notify: server.notify });
}

export async function readAsks(server: Server, params: ReadAsksParams): Promise<readonly (AskAnswer | null)[]> {
  const answers: (AskAnswer | null)[] = params.asks.map(() => null);
  for (const row of await server.read(READ_ASKS, params)) answers[(row.i as number) - 1] = answerOf(row);
  return answers;
}

function answerOf(row: Row): AskAnswer {
  const error = jsonOf<ErrorRecord>(row.error);
  return error ? { type: "failed", error } : { type: "answered", payload: row.answer as Payload };
}

export async function forgetAsks(server: Server, params: ReadAsksParams): Promise<void> {
  await server.write(FORGET_ASKS, params);
}
