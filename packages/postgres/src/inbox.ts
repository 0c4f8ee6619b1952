import {
  type DeliverMessage,
  type DeliverMessagesParams,
  type DeliverMessagesResult,
  type DeliverOutcome,
  type Message,
  type ReadInboxParams,
  type ReplyAddress,
  resumeNote,
  senderOf,
} from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import { eventTypeCode, jsonBytes } from "./database/codes.ts";
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { callOf, readingCallOf } from "./database/server-call.ts";
import { outcomesOf, REFS, type Refs } from "./runs/run-refs.ts";
import { messageOf } from "./runs/run-rows.ts";

interface Delivery extends DeliverMessagesParams, Refs {
  readonly notify: boolean;
}

export const DELIVER = callOf<Delivery>("deliver_messages", {
  ...REFS,
  p_kind: ({ messages }) => binary.textArray(messages, (message) => message.kind),
  p_name: ({ messages }) => binary.textArray(messages, (message) => message.name),
  p_message: ({ messages }) => binary.textArray(messages, (message) => message.messageId),
  p_payload: ({ messages }) => binary.byteaArray(messages, (message) => message.payload),
  p_inbox_max: ({ inboxMax }) => inboxMax,
  p_notify: ({ notify }) => notify,
  p_from: ({ messages }) => binary.sparse(binary.textArray, messages, ({ from }) => from ?? null),
  p_reply_to: ({ messages }) =>
    binary.sparse(
      binary.textArray,
      messages.map(({ replyTo }) => (replyTo ? addressText(replyTo) : null)),
    ),
  p_note_type: ({ messages }) => (messages.some(isCancel) ? eventTypeCode("run_resumed") : null),
  p_notes: ({ messages }) =>
    binary.sparse(
      binary.byteaArray,
      messages.map((message) => (isCancel(message) ? noteOf(message) : null)),
    ),
  p_epoch: ({ messages }) => binary.sparse(binary.int4Array, messages, ({ epoch }) => epoch ?? null),
  p_hold_run: ({ messages }) => binary.sparse(binary.uuidArray, messages, ({ hold }) => hold?.runId ?? null),
  p_hold_epoch: ({ messages }) => binary.sparse(binary.int4Array, messages, ({ hold }) => hold?.epoch ?? null),
  p_hold_by: ({ holdBy }) => holdBy?.workerId ?? null,
  p_claim: ({ holdBy }) => holdBy?.claimId ?? null,
});

function isCancel({ kind }: DeliverMessage): boolean {
  return kind === "cancel";
}

function noteOf(cancel: DeliverMessage): Uint8Array | null {
  const { meta } = resumeNote(senderOf(cancel));
  return meta === undefined ? null : jsonBytes(meta);
}

function addressText({ namespace, runId, op }: ReplyAddress): string {
  return JSON.stringify({ namespace, runId, op });
}

const READ = readingCallOf<ReadInboxParams>("read_inbox", {
  p_namespace: ({ runs }) => binary.textArray(runs, (run) => run.namespace),
  p_run: ({ runs }) => binary.uuidArray(runs, (run) => run.runId),
  p_after: ({ runs }) => binary.int4Array(runs, (run) => run.after),
});

export function deliveryOf(params: DeliverMessagesParams, notify: boolean): Delivery {
  return { ...params, refs: params.messages.map((message) => message.to), notify };
}

export async function deliverMessages(server: Server, params: DeliverMessagesParams): Promise<DeliverMessagesResult> {
  return deliverResult(await server.write(DELIVER, deliveryOf(params, server.notify)));
}

export function deliverResult(rows: readonly Row[]): DeliverMessagesResult {
  const outcomes = outcomesOf<DeliverOutcome>(rows);
  for (const { i, number, at } of rows) {
    if (number === null) continue;
    const at0 = (i as number) - 1;
    outcomes[at0] = { ...(outcomes[at0] as DeliverOutcome), held: { number: number as number, at: at as number } };
  }
  return { outcomes };
}

export async function readInbox(server: Server, params: ReadInboxParams): Promise<readonly Message[]> {
  return (await server.read(READ, params)).map(messageOf);
}
