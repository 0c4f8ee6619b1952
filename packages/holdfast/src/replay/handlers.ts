/**
 * What workflow code has registered with `ctx.on`, and how it is called. Queries, `validate` and the predicates of `ctx.until`
 * are called when the code is at rest, at once, and without ctx: whatever they asked for would not be there on replay.
 */
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { checkOptions, invalidOption, isFunction, type OptionChecks } from "../errors/option-checks.ts";
import { readText } from "../errors/safe-read.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { HistoryEvent } from "../model/event.ts";
import type { Payload } from "../model/payload.ts";
import { isPromiseLike } from "../model/promise-like.ts";
import type { Run } from "../model/run.ts";
import type { Codec } from "../ports/codec.ts";
import type { QueryDefinition, QueryHandler, UpdateDefinition, UpdateHandler } from "./context/conversations.ts";

const UPDATE_HANDLER: OptionChecks<UpdateHandler> = { validate: isFunction, handle: isFunction };

export class Handlers {
  readonly #updates = new Map<string, UpdateHandler>();
  readonly #queries = new Map<string, QueryHandler>();
  /** What updates were answered before the run was tried again; undefined as long as nobody has asked. */
  answers: ReadonlyMap<string | null, HistoryEvent> | undefined;
  /** What is being called, and may not use ctx. */
  #calling: string | undefined;

  get calling(): string | undefined {
    return this.#calling;
  }

  /** The last one of a name counts. */
  on(definition: Pick<QueryDefinition | UpdateDefinition, "kind" | "name">, handler: unknown): void {
    const { kind, name } = definition ?? {};
    if (kind !== "query" && kind !== "update")
      throw new HoldfastError(
        "invalid_option",
        `ctx.on: the first argument is ${shownValue(definition)}, not an update or a query. Make one with update("name") or query("name").`,
      );
    const where = `ctx.on(${JSON.stringify(name)})`;
    if (kind === "query") {
      requireSynchronous(handler, where, "the handler of a query");
      this.#queries.set(name, handler as QueryHandler);
    } else this.#updates.set(name, updateHandler(handler, where));
  }

  update(name: string): UpdateHandler | undefined {
    return this.#updates.get(name);
  }

  /** What `validate` throws for it; undefined if the update passes. */
  refusal(name: string, argument: unknown): { readonly error: unknown } | undefined {
    const { validate } = this.#updates.get(name) ?? {};
    if (!validate) return undefined;
    try {
      this.call(`validate of update "${name}"`, () => validate(argument));
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  /** The encoded answer. Throws `handler_not_found`, or `query_failed`. */
  query(run: Run, name: string, payload: Payload, codec: Codec): Payload {
    const handler = this.#queries.get(name);
    if (!handler) throw handlerNotFound(run, "query", name, [...this.#queries.keys()]);
    try {
      const argument = payload.length === 0 ? undefined : codec.decode(payload);
      return codec.encode(
        this.call(`query "${name}"`, () => handler(argument)),
        `result of query "${name}"`,
      );
    } catch (cause) {
      throw queryFailed(run, name, cause);
    }
  }

  get updateNames(): readonly string[] {
    return [...this.#updates.keys()];
  }

  /** Refuses a ctx call inside one of these functions. */
  assertNotInside(call: string): void {
    if (this.#calling === undefined) return;
    const message = `${call} was called inside ${this.#calling}, which can change nothing and ask for nothing. Do that in the workflow, or in the handler of an update.`;
    throw new HoldfastError("inside_step", message, { data: { call } });
  }

  /** Calls something that may not use ctx. */
  call<T>(what: string, fn: () => T): T {
    const outer = this.#calling;
    this.#calling = what;
    let value: T;
    try {
      value = fn();
    } finally {
      this.#calling = outer;
    }
    if (!isPromiseLike(value)) return value;
    // Whatever becomes of it, nobody is waiting.
    value.then(undefined, () => {});
    throw new HoldfastError("invalid_option", `The function of ${what} is asynchronous. It must answer at once.`);
  }
}

export function handlerNotFound(
  run: Pick<Run, "id" | "runId" | "workflow">,
  kind: "update" | "query",
  name: string,
  known: readonly string[],
): HoldfastError {
  const { id, runId, workflow } = run;
  const has = known.length === 0 ? "It has none." : `It has: ${known.join(", ")}.`;
  const message = `Run "${id}" of workflow "${workflow}" has no handler for ${kind} "${name}" now. ${has} Register handlers with ctx.on before the first await.`;
  return new HoldfastError("handler_not_found", message, { data: { id, runId, name } });
}

export function queryFailed({ id, runId, workflow }: Run, name: string, cause: unknown): HoldfastError {
  if (isHoldfastError(cause, "query_failed")) return cause;
  const why = readText(cause, "message") ?? String(cause);
  const message = `Query "${name}" of run "${id}" (workflow "${workflow}") failed: ${why}`;
  return new HoldfastError("query_failed", message, { data: { id, runId, name }, cause });
}

/** A handler has changed the run. `cause`: what its code did because of that. */
export function queryChanged(run: Run, name: string, cause?: HoldfastError): HoldfastError {
  const what = cause
    ? "it made the code of the run go on, or used ctx after it had answered"
    : "it changed something that the run waits for with ctx.until";
  return queryFailed(run, name, new Error(`${what}. A query can change nothing; use an update.`, { cause }));
}

export function validateChanged({ id, runId }: Run, name: string): HoldfastError {
  const message = `Run "${id}" rejects update "${name}": its validate changed something that the run waits for with ctx.until. Change it in the handler.`;
  return new HoldfastError("update_rejected", message, { data: { id, runId, name } });
}

function updateHandler(given: unknown, where: string): UpdateHandler {
  if (typeof given === "function") return { handle: given as UpdateHandler["handle"] };
  if (typeof given !== "object" || given === null)
    throw invalidOption(where, "the handler", `is ${shownValue(given)}, not a function or { validate, handle }`);
  const handler = given as UpdateHandler;
  checkOptions(handler, UPDATE_HANDLER, where);
  isFunction(handler.handle, where, "handle");
  if (handler.validate !== undefined) requireSynchronous(handler.validate, where, "validate");
  return handler;
}

/** An async function would use ctx after its first await, when nothing tells its calls from those of the workflow. */
function requireSynchronous(fn: unknown, where: string, what: string): void {
  isFunction(fn, where, what);
  if ((fn as { readonly constructor?: { readonly name?: string } }).constructor?.name === "AsyncFunction")
    throw invalidOption(where, what, "is an async function; it must answer at once");
}
