/** What is done to a single run. */
import type { EditedOutcome, RunHandle, StartOptions } from "holdfast";
import { query, signal, update } from "holdfast";
import { HoldfastError, isClosed } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import type { Answered, Started } from "../api/action-messages.ts";
import { findRun } from "../reads/named-run.ts";
import { plainText } from "../reads/plain-json.ts";
import type { Ask } from "../reads/scope.ts";
import { given, optionalNumber, optionalText, parsedValue, record, text } from "./json-input.ts";

interface Who {
  readonly by: string;
  readonly reason?: string;
}

/** `by` is what `auth` says, never what the page says. */
export function whoOf({ scope, body }: Ask): Who {
  const reason = optionalText(record(body ?? {}), "reason");
  return { by: scope.visitor.user, ...(reason === undefined ? {} : { reason }) };
}

/** The run that the page showed, and not a later one of the same id. */
async function handleOf({ scope, parts }: Ask): Promise<RunHandle> {
  const { run } = await findRun(scope, parts["run"] as string);
  return scope.act.get({ runId: run.runId });
}

type Simple = "cancel" | "terminate" | "pause" | "resume" | "retry";

export function simpleAct(name: Simple): (ask: Ask) => Promise<object> {
  return async (ask) => {
    const handle = await handleOf(ask);
    if (name === "cancel" || name === "terminate") await requireOpen(handle);
    await handle[name](whoOf(ask));
    return {};
  };
}

/** The client leaves a run alone that has ended; somebody who clicked must hear that nothing happened. */
export async function requireOpen(handle: RunHandle): Promise<void> {
  const { id, status } = await handle.describe();
  if (isClosed(status))
    throw new HoldfastError("run_closed", `Run "${id}" is ${status.replace("_", " ")} already. Nothing was changed.`);
}

export async function start({ scope, body }: Ask): Promise<Started> {
  const asked = record(body);
  const { attributes, ifRunning, ifClosed } = asked as StartOptions;
  const options = given({
    id: optionalText(asked, "id"),
    version: optionalText(asked, "version"),
    queue: optionalText(asked, "queue"),
    priority: optionalNumber(asked, "priority"),
    key: optionalText(asked, "key"),
    timeout: optionalText(asked, "timeout"),
    delay: optionalText(asked, "delay"),
    attributes,
    ifRunning,
    ifClosed,
  }) as StartOptions;
  const run = await scope.act.start(text(asked, "workflow"), parsedValue(asked["input"], "input"), options);
  return { id: run.id, runId: run.runId, created: run.created };
}

export async function sendSignal(ask: Ask): Promise<object> {
  const asked = record(ask.body);
  const id = optionalText(asked, "id");
  const payload = parsedValue(asked["payload"], "payload");
  const handle = await handleOf(ask);
  await handle.signal(signal<unknown>(text(asked, "name")), payload as never, ...(id === undefined ? [] : [{ id }]));
  return {};
}

export async function sendUpdate(ask: Ask): Promise<Answered> {
  const asked = record(ask.body);
  const id = optionalText(asked, "id");
  const handle = await handleOf(ask);
  const definition = update<unknown, unknown>(text(asked, "name"));
  const argument = parsedValue(asked["payload"], "payload");
  const options = { timeout: "20s", ...(id === undefined ? {} : { id }) } as const;
  return { result: shown(ask, await handle.update(definition, argument as never, options)) };
}

export async function ask(asking: Ask): Promise<Answered> {
  const asked = record(asking.body);
  const handle = await handleOf(asking);
  const definition = query<unknown, unknown>(text(asked, "name"));
  return { result: shown(asking, await handle.query(definition, parsedValue(asked["payload"], "payload") as never)) };
}

/** An answer may contain what its asker must not see. */
function shown({ scope }: Ask, answer: unknown): string {
  if (answer === undefined) return "";
  const { values, namespace } = scope;
  if (values.right === "full") return plainText(answer);
  return values.whole(answer, { namespace, workflow: "", what: "answer" });
}

export async function fork(ask: Ask): Promise<Started> {
  const asked = record(ask.body);
  const { before } = asked;
  if (typeof before !== "string" && typeof before !== "number")
    throw refusal(400, "bad_request", "before is missing: the op, or the event, where the fork begins.");
  const edits = asked["edit"] === undefined ? undefined : record(asked["edit"]);
  const edit = edits && Object.fromEntries(Object.entries(edits).map(([op, how]) => [op, outcomeOf(op, how)]));
  const input = parsedValue(asked["input"], "input");
  const handle = await handleOf(ask);
  const made = await handle.fork({
    before,
    ...whoOf(ask),
    ...given({ id: optionalText(asked, "id"), input, edit }),
  });
  const { runId, id } = await made.describe();
  return { id, runId, created: true };
}

function outcomeOf(op: string, how: unknown): EditedOutcome {
  const { result, error } = record(how);
  if (error === undefined) return { result: parsedValue(result, `the result of ${op}`) };
  return { error: new Error(String(parsedValue(error, `the error of ${op}`))) };
}
