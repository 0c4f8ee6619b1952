/** Runs that leave for another store, or arrive from one. */
import {
  type ArrivalOutcome,
  type DepartOutcome,
  type DepartParams,
  type Departure,
  type DeparturesParams,
  isClosed,
  outOfLine,
  type RestText,
  type RunImage,
  type RunRest,
  type RunTie,
  restOfText,
  restText,
  type TransferParams,
  type TransferRef,
} from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import { eventTypeCode, jsonBytes } from "./database/codes.ts";
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { callOf, queryOf, readingCallOf } from "./database/server-call.ts";
import { isRace } from "./errors.ts";

const READ = readingCallOf<{ readonly runs: readonly TransferRef[] }>("read_rests", {
  p_namespace: ({ runs }) => binary.textArray(runs, (run) => run.namespace),
  p_run: ({ runs }) => binary.uuidArray(runs, (run) => run.runId),
});

const IDENTIFY = callOf<{ readonly storeId: string }>("identify_store", { p_store: ({ storeId }) => storeId });

const DEPART = callOf<DepartParams & { readonly notify: boolean }>("depart_run", {
  p_namespace: ({ namespace }) => namespace,
  p_run: ({ runId }) => runId,
  p_epoch: ({ epoch }) => epoch,
  p_commit: ({ commit }) => commit,
  p_delivered: ({ delivered }) => delivered,
  p_departure: ({ departureId }) => departureId,
  p_target: ({ target }) => target,
  p_to: ({ to }) => to,
  p_error: ({ error }) => jsonBytes(error),
  p_notify: ({ notify }) => notify,
});

const LIST = queryOf<DeparturesParams>(
  "departures",
  (at) => `
    select d.run_id, d.epoch, d.at, d.target, d.shown, d.rest from ${at}.departures d
     where d.namespace = $namespace and d.run_id > $after and ($run::uuid is null or d.run_id = $run::uuid)
     order by d.run_id limit $limit`,
  {
    namespace: ({ namespace }) => namespace,
    after: ({ after }) => after ?? "00000000-0000-0000-0000-000000000000",
    run: ({ runId }) => runId ?? null,
    limit: ({ limit }) => limit,
  },
);

const CONFIRM = callOf<TransferParams>("confirm_departure", {
  p_namespace: ({ namespace }) => namespace,
  p_run: ({ runId }) => runId,
  p_epoch: ({ epoch }) => epoch,
});

const ARRIVE = callOf<RunImage & { readonly notify: boolean }>("arrive_run", {
  p_row: ({ run }) => rowText(run),
  p_input: ({ run }) => Buffer.from(run.input),
  p_output: ({ run }) => (run.output === null ? null : Buffer.from(run.output)),
  p_error: ({ run }) => (run.error === null ? null : jsonBytes(run.error)),
  p_rest: ({ rest }) => JSON.stringify(restText(rest)),
  p_closed: ({ run }) => isClosed(run.status),
  e_seq: ({ events }) => binary.int4Array(events, (event) => event.seq),
  e_type: ({ events }) => binary.int2Array(events, (event) => eventTypeCode(event.type)),
  e_op: ({ events }) => binary.textArray(events, (event) => event.op),
  e_at: ({ events }) => binary.timeArray(events, (event) => event.at),
  e_payload: ({ events }) => binary.byteaArray(events, (event) => event.payload ?? null),
  e_meta: ({ events }) => binary.byteaArray(events.map(({ meta }) => (meta === undefined ? null : jsonBytes(meta)))),
  m_number: ({ messages }) => binary.int4Array(messages, (message) => message.number),
  m_kind: ({ messages }) => binary.textArray(messages, (message) => message.kind),
  m_name: ({ messages }) => binary.textArray(messages, (message) => message.name),
  m_message: ({ messages }) => binary.textArray(messages, (message) => message.messageId),
  m_at: ({ messages }) => binary.timeArray(messages, (message) => message.at),
  m_payload: ({ messages }) => binary.byteaArray(messages, (message) => message.payload),
  p_notify: ({ notify }) => notify,
});

export async function readRests(
  server: Server,
  params: { readonly runs: readonly TransferRef[] },
): Promise<(RunRest | null)[]> {
  const rests: (RunRest | null)[] = params.runs.map(() => null);
  for (const row of await server.read(READ, params)) rests[(row.i as number) - 1] = restIn(row.rest, row.at);
  return rests;
}

export async function identifyStore(
  server: Server,
  params: { readonly storeId: string },
): Promise<{ readonly storeId: string }> {
  return { storeId: (await server.writeOne(IDENTIFY, params)).o_store as string };
}

export async function departRunIfIdle(server: Server, params: DepartParams): Promise<DepartOutcome> {
  const row = await server.writeOne(DEPART, { ...params, notify: server.notify });
  const outcome = row.o_outcome as DepartOutcome["outcome"];
  if (outcome === "departed") return { outcome, rest: restIn(row.o_rest, row.o_at) };
  return outcome === "tied" ? { outcome, tie: row.o_tie as RunTie } : { outcome };
}

export async function listDepartures(server: Server, params: DeparturesParams): Promise<Departure[]> {
  return (await server.read(LIST, params)).map((row) => ({
    namespace: params.namespace,
    runId: row.run_id as string,
    epoch: row.epoch as number,
    target: row.target as string,
    to: row.shown as string,
    at: row.at as number,
    rest: restIn(row.rest, row.at),
  }));
}

export async function arriveRun(
  server: Server,
  { image }: { readonly image: RunImage },
): Promise<{ readonly outcome: ArrivalOutcome }> {
  const send = (): Promise<Row> => server.writeOne(ARRIVE, { ...image, notify: server.notify });
  let row: Row;
  try {
    row = await send();
  } catch (error) {
    // A start has just taken the id, or another import has written the same run.
    if (!isRace(error)) throw error;
    row = await send();
  }
  return { outcome: row.o_outcome as ArrivalOutcome };
}

export async function confirmDeparture(server: Server, params: TransferParams): Promise<void> {
  await server.write(CONFIRM, params);
}

function restIn(text: unknown, at: unknown): RunRest {
  return outOfLine(restOfText(JSON.parse(text as string) as RestText), at as number);
}

/** The row without its values. Attributes stay text: they are stored as they are. */
function rowText({ input: _input, output: _output, error: _error, attributes, ...row }: RunImage["run"]): string {
  const given = Object.keys(attributes).length === 0 ? null : JSON.stringify(attributes);
  return JSON.stringify({ ...row, attributes: given });
}
