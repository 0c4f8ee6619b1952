import {
  MESSAGES_WITH_VALUE,
  PAYLOAD_PARTS,
  type Payload,
  type PayloadPart,
  type PlacedPayload,
  payloadPage,
  type ReadPayloadsParams,
  type ReplaceOutcome,
  type ReplacePayloadsParams,
} from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import type { Server } from "./database/server.ts";
import { callOf, readingCallOf } from "./database/server-call.ts";

export const READ_PAYLOADS = readingCallOf<ReadPayloadsParams>("read_payloads", {
  p_namespace: ({ runs }) => binary.textArray(runs, ({ namespace }) => namespace),
  p_run: ({ runs }) => binary.uuidArray(runs, ({ runId }) => runId),
  p_part: ({ runs }) => binary.int4Array(runs, ({ after }) => (after ? partCode(after.part) : -1)),
  p_number: ({ runs }) => binary.int4Array(runs, ({ after }) => after?.number ?? -1),
  p_kinds: () => binary.textArray(MESSAGES_WITH_VALUE),
  p_limit: ({ limitPerRun }) => limitPerRun,
  p_bytes: ({ bytesPerRun }) => Math.min(bytesPerRun, Number.MAX_SAFE_INTEGER),
});

export const REPLACE_PAYLOADS = callOf<ReplacePayloadsParams>("replace_payloads", {
  p_namespace: ({ payloads }) => binary.textArray(payloads, ({ namespace }) => namespace),
  p_run: ({ payloads }) => binary.uuidArray(payloads, ({ runId }) => runId),
  p_part: ({ payloads }) => binary.int4Array(payloads, ({ part }) => partCode(part)),
  p_number: ({ payloads }) => binary.int4Array(payloads, ({ number }) => number),
  p_from: ({ payloads }) => binary.byteaArray(payloads, ({ from }) => from),
  p_to: ({ payloads }) => binary.byteaArray(payloads, ({ to }) => to),
  p_kinds: () => binary.textArray(MESSAGES_WITH_VALUE),
});

function partCode(part: PayloadPart): number {
  return PAYLOAD_PARTS.indexOf(part);
}

export async function readPayloads(
  server: Server,
  params: ReadPayloadsParams,
): Promise<readonly (readonly PlacedPayload[])[]> {
  const found: PlacedPayload[][] = params.runs.map(() => []);
  for (const { i, part, number, payload } of await server.read(READ_PAYLOADS, params)) {
    const place = { part: PAYLOAD_PARTS[part as number] as PayloadPart, number: number as number };
    found[(i as number) - 1]?.push({ ...place, payload: payload as Payload });
  }
  return found.map((payloads) => payloadPage(payloads, params));
}

export async function replacePayloads(
  server: Server,
  params: ReplacePayloadsParams,
): Promise<{ readonly outcomes: readonly ReplaceOutcome[] }> {
  const rows = await server.write(REPLACE_PAYLOADS, params);
  const outcomes: ReplaceOutcome[] = params.payloads.map(() => "changed");
  for (const { i, outcome } of rows) outcomes[(i as number) - 1] = outcome as ReplaceOutcome;
  return { outcomes };
}
