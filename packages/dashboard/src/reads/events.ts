/** The history in windows, and single payloads. */
import type { EventType, EventView, EventWindow } from "holdfast";
import { attachment } from "../answers/json-answer.ts";
import { refusal } from "../answers/refusal.ts";
import type { EventRow, EventsWindow, PayloadView, RunAudit } from "../api/run-messages.ts";
import { hasRole } from "../gate/visitor.ts";
import { type NamedRun, namedRun } from "./named-run.ts";
import { listOf, wholeNumber } from "./query-values.ts";
import { type Ask, type Scope, storeNow } from "./scope.ts";
import { PREVIEW_CHARACTERS, SHOWN_CHARACTERS } from "./shown-value.ts";
import { StoredValue } from "./stored-value.ts";

const WINDOW_MAX = 200;
/** What people do, by the events that say so. */
const BY_PEOPLE: readonly EventType[] = [
  "cancel_requested",
  "pause_requested",
  "run_parked",
  "run_resumed",
  "run_retried",
  "run_forked",
  "run_terminated",
  "signal_received",
  "update_accepted",
] as readonly EventType[];

export async function events(ask: Ask): Promise<EventsWindow> {
  const { scope, query } = ask;
  const { handle, run } = await namedRun(ask);
  const types = listOf(query, "types");
  const ops = listOf(query, "ops");
  const window: EventWindow = await handle.history({
    from: wholeNumber(query, "from", 0, Number.MAX_SAFE_INTEGER),
    limit: Math.max(1, wholeNumber(query, "limit", WINDOW_MAX, WINDOW_MAX)),
    ...(types ? { types: types as EventType[] } : {}),
    ...(ops ? { ops } : {}),
    ...(query.get("failed") === "1" ? { failed: true } : {}),
  });
  return {
    events: window.map((event) => eventRow(scope, run.workflow, event)),
    next: window.next,
    total: run.historyLength,
    now: await storeNow(scope),
  };
}

export function eventRow(scope: Scope, workflow: string, event: EventView, limit = PREVIEW_CHARACTERS): EventRow {
  const { seq, type, category, op, at, attempt, ms, worker, fireAt, retryAt, error, data, value, ...more } = event;
  const place = { namespace: scope.namespace, workflow, what: op ?? type };
  const who = { ...more, ...data } as { readonly by?: string; readonly reason?: string };
  const rest = shownMore(more);
  return {
    seq,
    type,
    category,
    op,
    at: at.getTime(),
    ...(attempt === undefined ? {} : { attempt }),
    ...(ms === undefined ? {} : { ms }),
    ...(worker === undefined ? {} : { worker }),
    ...(fireAt === undefined ? {} : { fireAt: fireAt.getTime() }),
    ...(retryAt === undefined ? {} : { retryAt: retryAt.getTime() }),
    ...(error === undefined ? {} : { error: scope.values.error(error) }),
    ...(who.by === undefined ? {} : { by: who.by }),
    ...(who.reason === undefined ? {} : { reason: who.reason }),
    ...(value === undefined ? {} : { value: scope.values.show(value, place, limit) }),
    ...(Object.keys(rest).length === 0 ? {} : { more: rest }),
  };
}

/** Never a value: those are shown as values. */
function shownMore(more: object): Readonly<Record<string, unknown>> {
  const shown = Object.entries(more).filter(
    ([name, value]) =>
      !["by", "reason", "seed"].includes(name) && value !== undefined && !(value instanceof StoredValue),
  );
  return JSON.parse(JSON.stringify(Object.fromEntries(shown))) as Record<string, unknown>;
}

export async function payload(ask: Ask): Promise<PayloadView | Response> {
  const { scope, parts, query } = ask;
  const { namespace, values } = scope;
  const named = await namedRun(ask);
  const { value, what } = await valueAt(named, parts["seq"] as string);
  const place = { namespace, workflow: named.run.workflow, what };
  const name = `${named.run.id}-${parts["seq"]}`;
  if (query.get("download") !== "1") return { value: values.show(value, place, SHOWN_CHARACTERS), name };
  const shown = values.show(value, place, Number.POSITIVE_INFINITY);
  if (shown.form === "encrypted" && value instanceof StoredValue)
    return attachment(`${name}.bin`, value.bytes, "application/octet-stream");
  return attachment(`${name}.json`, shown.text, "application/json");
}

async function valueAt({ handle, run }: NamedRun, place: string): Promise<{ value: unknown; what: string }> {
  if (place === "input") return { value: run.input, what: "input" };
  if (place === "output") return { value: run.output, what: "output" };
  const seq = Number(place);
  if (!Number.isSafeInteger(seq) || seq < 0)
    throw refusal(400, "bad_request", `"${place.slice(0, 50)}" is no seq: it is a number, input or output.`);
  const [event] = seq < run.historyLength ? await handle.history({ from: seq, limit: 1 }) : [];
  if (!event) throw refusal(404, "not_found", `Run "${run.id}" has no event ${seq}.`);
  return { value: event.value, what: event.op ?? event.type };
}

/** All of it, as JSON. */
export async function runExport(ask: Ask): Promise<Response> {
  const { scope } = ask;
  const { handle, run } = await namedRun(ask);
  const { namespace, values } = scope;
  const rows: EventRow[] = [];
  for (let from: number | null = 0; from !== null; ) {
    const window: EventWindow = await handle.history({ from, limit: 1_000 });
    rows.push(...window.map((event) => eventRow(scope, run.workflow, event, Number.POSITIVE_INFINITY)));
    from = window.next;
  }
  const place = { namespace, workflow: run.workflow };
  const whole = {
    ...run,
    input: values.show(run.input, { ...place, what: "input" }, Number.POSITIVE_INFINITY),
    output: values.show(run.output, { ...place, what: "output" }, Number.POSITIVE_INFINITY),
    error: run.error && values.error(run.error),
    events: rows,
  };
  return attachment(`${run.id}.json`, JSON.stringify(whole, null, 1), "application/json");
}

export async function runAudit(ask: Ask): Promise<RunAudit> {
  const { handle, run } = await namedRun(ask);
  const found: EventView[] = [];
  for (let from: number | null = 0; from !== null && found.length < 1_000; ) {
    const window: EventWindow = await handle.history({ from, limit: 1_000, types: BY_PEOPLE });
    found.push(...window);
    from = window.next;
  }
  const entries = found.map((event) => {
    const { by = null, reason = null } = { ...event, ...event.data } as { by?: string; reason?: string };
    const what = event.op === null ? event.type : `${event.type} ${event.op}`;
    return { at: event.at.getTime(), what, by, reason, seq: event.seq, outcome: event.error?.code ?? null };
  });
  const { visitor, store } = ask.scope;
  // The log is for admins; what a history says is for everybody.
  const access = hasRole(visitor, "admin") ? store.access : undefined;
  const rows = access ? await access.listAudit({ namespace: run.namespace, before: null, limit: 1_000 }) : [];
  const logged = rows
    .filter(({ subject }) => subject === run.id || subject === run.runId)
    .map((row) => ({ at: row.at, what: row.action, by: row.actor, reason: null, seq: null, outcome: row.outcome }));
  return { entries: [...entries, ...logged].sort((a, b) => b.at - a.at) };
}
