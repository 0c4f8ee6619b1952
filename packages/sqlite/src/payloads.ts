import {
  isInUse,
  MESSAGES_WITH_VALUE,
  numbersAfter,
  PAYLOAD_PARTS,
  type Payload,
  type PayloadPart,
  type PlacedPayload,
  payloadPage,
  type ReadPayloadsParams,
  type ReplaceOutcome,
  type ReplacePayload,
  type ReplacePayloadsParams,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { hasTie, TIES } from "./database/codes.ts";
import { blob } from "./database/driver.ts";
import { stateOf } from "./runs/run-state.ts";
import { dropSegmentsOf } from "./segments.ts";

/** Where the values of a part are. The condition leaves out what is no value. */
interface Column {
  readonly table: string;
  readonly payload: string;
  /** Null if a run has one at most. */
  readonly number: string | null;
  readonly condition?: string;
  /** Tasks are found by run id, everything else by key. */
  readonly byRunId?: true;
}

const WITH_VALUE = MESSAGES_WITH_VALUE.map((kind) => `'${kind}'`).join(", ");
const COLUMNS: Readonly<Record<PayloadPart, Column>> = {
  input: { table: "holdfast_run_starts", payload: "input", number: null },
  output: { table: "holdfast_run_ends", payload: "output", number: null },
  event: { table: "holdfast_events", payload: "payload", number: "seq" },
  message: {
    table: "holdfast_inbox",
    payload: "payload",
    number: "number",
    condition: `kind in (${WITH_VALUE})`,
  },
  details: { table: "holdfast_tasks", payload: "details", number: "seq", byRunId: true },
};

const statements = (make: (column: Column) => string): Readonly<Record<PayloadPart, string>> =>
  Object.fromEntries(PAYLOAD_PARTS.map((part) => [part, make(COLUMNS[part])])) as Record<PayloadPart, string>;

const SELECT = statements(({ table, payload, number, condition = "true", byRunId }) => {
  const key = byRunId ? "run_id" : "run_key";
  return `select ${number ?? 0} as number, ${payload} as payload from ${table}
    where ${key} = ? and ${number ?? 0} > ? and length(${payload}) > 0 and ${condition} order by ${number ?? key} limit ?`;
});
const SELECT_TAIL = `
  select tail_seq as number, tail_payload as payload from holdfast_run_ends where run_key = ? and tail_seq > ? and length(tail_payload) > 0`;
const UPDATE_TAIL = `
  update holdfast_run_ends set tail_payload = ? where run_key = ? and tail_seq = ? and tail_payload in (?, ?)`;
/** With the same bytes again if the call is repeated. */
const UPDATE = statements(({ table, payload, number, condition = "true", byRunId }) => {
  const key = byRunId ? "run_id" : "run_key";
  return `update ${table} set ${payload} = ?
    where ${key} = ? and ${number ?? 0} = ? and ${payload} in (?, ?) and ${condition}`;
});

interface Numbered {
  readonly number: number;
  readonly payload: Payload;
}

export function readPayloads(call: Call, params: ReadPayloadsParams): (readonly PlacedPayload[])[] {
  return params.runs.map(({ namespace, runId, after }) => {
    const run = stateOf(call, namespace, runId);
    const found: PlacedPayload[] = [];
    for (const part of run ? PAYLOAD_PARTS : []) {
      const last = numbersAfter(part, after);
      const room = params.limitPerRun - found.length;
      if (last === null || room === 0 || !run) continue;
      const key = COLUMNS[part].byRunId ? run.runId : run.runKey;
      const rows = call.sql.all<Numbered>(SELECT[part], key, last, room);
      if (part === "event" && rows.length < room) rows.push(...call.sql.all<Numbered>(SELECT_TAIL, key, last));
      for (const { number, payload } of rows) found.push({ part, number, payload });
    }
    return payloadPage(found, params);
  });
}

export function replacePayloads(
  call: Call,
  { payloads }: ReplacePayloadsParams,
): { readonly outcomes: readonly ReplaceOutcome[] } {
  return { outcomes: payloads.map((one) => replacePayload(call, one)) };
}

function replacePayload(call: Call, { namespace, runId, from, to, ...place }: ReplacePayload): ReplaceOutcome {
  const run = stateOf(call, namespace, runId);
  if (!run) return "changed";
  const { heldBy, consumed, ties } = run;
  if (isInUse({ held: heldBy !== null, consumed, owes: hasTie(ties, TIES.owes) }, place)) return "in_use";
  const key = COLUMNS[place.part].byRunId ? run.runId : run.runKey;
  const values = [blob(to), key, place.number, blob(from), blob(to)];
  let changed = call.sql.run(UPDATE[place.part], ...values);
  if (changed === 0 && place.part === "event") changed = call.sql.run(UPDATE_TAIL, ...values);
  // Packed copies of events have the old bytes.
  if (changed > 0 && place.part === "event") dropSegmentsOf(call, run.runKey);
  return changed === 0 ? "changed" : "replaced";
}
