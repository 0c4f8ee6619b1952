/**
 * Stands before every handler: who calls, whether they may, whether it is too much; then the call; then what is told of an
 * error, and what is kept for the audit. Handlers of services that are mounted from outside stand behind it as well.
 */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { type CreateTokenResponse, ErrorDetailSchema, Role, RpcCode, toRefusal } from "@holdfast/protocol";
import { type Clock, HoldfastError, isHoldfastError, type Logger, valueFault } from "holdfast/adapter";
import type { AuditLog } from "../access/audit-log.ts";
import type { Authenticator } from "../access/authenticator.ts";
import { isNamespaceName, type NamespaceRules, requireNamespaceName } from "../access/namespace-rules.ts";
import type { Permission, Permissions } from "../access/permissions.ts";
import { ALL_NAMESPACES, ANYONE, ownNamespace, type Principal, requireAllowed } from "../access/principal.ts";
import type { RateLimits } from "../access/rate-limits.ts";
import type { ClientPool } from "../client-pool.ts";
import { patiently } from "../patience.ts";
import { contextValuesOf, type NodeRequest, requestFacts } from "../port/request-facts.ts";
import type { ServerCounts } from "../port/server-counts.ts";
import type { Call, Handlers } from "./call.ts";

export interface GuardParams {
  readonly permissions: Permissions;
  readonly authenticator: Authenticator;
  readonly limits: RateLimits;
  readonly namespaces: NamespaceRules;
  readonly clients: ClientPool;
  readonly audit: AuditLog;
  readonly counts: ServerCounts;
  readonly log: Logger;
  readonly clock: Clock;
  /** Aborted when the server drains: polls are answered at once. */
  readonly draining: AbortSignal;
}

/** What a request may name; each service has some of these fields. */
interface Named {
  readonly namespace?: unknown;
  readonly runId?: string;
  readonly externalId?: string;
  readonly scheduleId?: string;
  readonly workerId?: string;
  readonly id?: string;
}

/** Calls that concern all namespaces, or one that is named `*`. */
const MAY_NAME_ALL: ReadonlySet<string> = new Set(["CreateToken", "ListTokens", "RevokeToken", "ListAuditEvents"]);

/** Whoever opens a stream must say so long what it is for. */
const HELLO_MS_MAX = 10_000;
/** A read that waits 20 s for an end is answered before; one that takes longer waits for a store that is away. */
const READ_MS_MAX = 25_000;

export class Guard {
  readonly #params: GuardParams;

  constructor(params: GuardParams) {
    this.#params = params;
  }

  /** The implementation of a service as the router takes it. */
  implementation<S extends DescService>(service: S, handlers: Handlers<S>): ServiceImpl<S> {
    const made: Record<string, unknown> = {};
    for (const method of service.methods) {
      this.permissionOf(method);
      const handler = handlers[method.localName as keyof Handlers<S>] as (message: unknown, call: Call) => never;
      made[method.localName] =
        method.methodKind === "unary"
          ? (message: object, context: HandlerContext) => this.#unary(method, message, context, handler)
          : method.methodKind === "bidi_streaming"
            ? (messages: AsyncIterable<object>, context: HandlerContext) =>
                this.#attached(method, messages, context, handler)
            : (message: object, context: HandlerContext) => this.#stream(method, message, context, handler);
    }
    return made as ServiceImpl<S>;
  }

  permissionOf(method: DescMethod): Permission {
    const name = `${method.parent.typeName}/${method.name}`;
    const permission = this.#params.permissions[name];
    if (permission) return permission;
    throw new HoldfastError("invariant_broken", `${name} has no row in the table of permissions.`);
  }

  async #unary(
    method: DescMethod,
    message: object,
    context: HandlerContext,
    handler: (message: unknown, call: Call) => Promise<unknown>,
  ): Promise<unknown> {
    return this.#answering(method, message, context, async (principal, namespace) => {
      if (principal === undefined) return handler(message, this.#callWithoutClient(context));
      const work = this.#params.clients.use(namespace, ({ raw, plain }) =>
        handler(message, this.#call(context, principal, namespace, raw, plain)),
      );
      if (this.permissionOf(method).limit !== "reads") return work;
      const answer = await withinMs(this.#params.clock, READ_MS_MAX, work);
      if (answer === undefined) throw new HoldfastError("store_unavailable", "The store has not answered in time.");
      return answer;
    });
  }

  async *#stream(
    method: DescMethod,
    message: object,
    context: HandlerContext,
    handler: (message: unknown, call: Call) => AsyncIterable<unknown>,
  ): AsyncGenerator<unknown> {
    let release = (): void => {};
    try {
      const stream = await this.#answering(method, message, context, async (principal, namespace) => {
        if (principal === undefined) return handler(message, this.#callWithoutClient(context));
        const held = this.#params.clients.hold(namespace);
        release = held.release;
        const { raw, plain } = held.clients;
        return handler(message, this.#call(context, principal, namespace, raw, plain));
      });
      for await (const answer of stream) yield answer;
    } catch (error) {
      throw this.#refused(error, method);
    } finally {
      release();
    }
  }

  /** A stream in both directions: its first message says for which namespace. */
  async *#attached(
    method: DescMethod,
    messages: AsyncIterable<object>,
    context: HandlerContext,
    handler: (messages: unknown, call: Call) => AsyncIterable<unknown>,
  ): AsyncGenerator<unknown> {
    const stream = messages[Symbol.asyncIterator]();
    // Before anything is read: whoever may not open a stream does not keep one open.
    await this.principalOf(context).catch((error: unknown) => {
      throw this.#refused(error, method);
    });
    const hello = await withinMs(this.#params.clock, HELLO_MS_MAX, stream.next());
    if (hello === undefined || hello.done)
      throw new ConnectError("The first message must be the hello.", Code.InvalidArgument);
    const { message } = hello.value as { message?: { case?: string; value?: object } };
    if (message?.case !== "hello") throw new ConnectError("The first message must be the hello.", Code.InvalidArgument);
    const named = message.value as object;
    const { limit: _, ...permission } = this.permissionOf(method);
    const { needsEnabled: __, ...lasting } = permission;
    const admitAgain = async (needed: Permission): Promise<void> =>
      void (await this.#admit(needed, method, named as Named, await this.principalOf(context)));
    const again = { readmit: () => admitAgain(permission), stillAllowed: () => admitAgain(lasting) };
    async function* all(): AsyncGenerator<object> {
      yield hello?.value as object;
      for (let next = await stream.next(); !next.done; next = await stream.next()) yield next.value;
    }
    yield* this.#stream(method, named, context, (_named, call) => handler(all(), { ...call, ...again }));
  }

  /** Throws what the caller is told. */
  async #answering<R>(
    method: DescMethod,
    message: object,
    context: HandlerContext,
    perform: (principal: Principal | undefined, namespace: string) => Promise<R>,
  ): Promise<R> {
    const permission = this.permissionOf(method);
    const { counts } = this.#params;
    const address = requestFacts(context.values).address;
    let principal: Principal | undefined;
    let namespace = ALL_NAMESPACES;
    let outcome = "ok";
    let answer: R | undefined;
    try {
      if (permission.role !== null) {
        principal = await this.principalOf(context);
        namespace = namedIn(permission, message as Named, principal);
        requireReadable(message);
        namespace = await this.#admit(permission, method, message as Named, principal);
      }
      answer = await perform(principal, namespace);
      return answer;
    } catch (error) {
      const refusal = this.#refused(error, method);
      outcome = isHoldfastError(error) ? error.code : "internal";
      throw refusal;
    } finally {
      counts.answered(`${method.parent.typeName}/${method.name}`, outcome);
      if (permission.audit && principal) {
        const subject = madeKey(answer) ?? subjectOf(message as Named);
        this.#params.audit.add({ actor: principal.id, action: method.name, namespace, subject, outcome, address });
      }
    }
  }

  principalOf({ requestHeader, values }: Pick<HandlerContext, "requestHeader" | "values">): Promise<Principal> {
    const { address, names } = requestFacts(values);
    const authorization = requestHeader.get("authorization");
    return this.#params.authenticator.principalOf({ authorization, address, ...(names ? { names } : {}) });
  }

  /** Why the sender of a request may not make this call, as far as its headers tell; never rejects. */
  async strangerAt(method: DescMethod, request: NodeRequest): Promise<ConnectError | undefined> {
    if (this.permissionOf(method).role === null) return undefined;
    const { authorization } = request.headers;
    try {
      const requestHeader = new Headers(authorization === undefined ? {} : { authorization });
      await this.principalOf({ requestHeader, values: contextValuesOf(request) });
      return undefined;
    } catch (error) {
      const outcome = isHoldfastError(error) ? error.code : "internal";
      this.#params.counts.answered(`${method.parent.typeName}/${method.name}`, outcome);
      return this.#refused(error, method);
    }
  }

  /** For calls that concern no namespace: whoever may do anything at all may make them. */
  async requireSomeGrant(context: HandlerContext, method: DescMethod): Promise<void> {
    try {
      this.permissionOf(method);
      const { id, grants } = await this.principalOf(context);
      if (grants.length === 0) throw new HoldfastError("permission_denied", `The token of "${id}" allows nothing.`);
    } catch (error) {
      throw this.#refused(error, method);
    }
  }

  /** The namespace of the call, if it may be made. */
  async #admit(
    { role, scope, limit, needsEnabled }: Permission,
    method: DescMethod,
    message: Named,
    principal: Principal,
  ): Promise<string> {
    const named = typeof message.namespace === "string" ? message.namespace : "";
    const namespace = scope === "all" ? ALL_NAMESPACES : named === "" ? ownNamespace(principal) : named;
    requireAllowed(principal, role ?? "admin", namespace, method.name);
    const mayNameAll = scope === "all" || (namespace === ALL_NAMESPACES && MAY_NAME_ALL.has(method.name));
    if (!mayNameAll) requireNamespaceName(namespace);
    const { limits, namespaces } = this.#params;
    if (limit) limits.take(limit, [`key "${principal.id}"`, `namespace "${namespace}"`]);
    if (needsEnabled) await patiently(this.#params.clock, () => namespaces.requireEnabled(namespace));
    return namespace;
  }

  #call(
    context: HandlerContext,
    principal: Principal,
    namespace: string,
    client: Call["client"],
    plain: Call["plain"],
  ): Call {
    const { address } = requestFacts(context.values);
    const { requestHeader } = context;
    return {
      principal,
      namespace,
      client,
      plain,
      address,
      traceparent: requestHeader.get("traceparent"),
      workerHeader: requestHeader.get("x-holdfast-worker"),
      signal: context.signal,
      draining: this.#params.draining,
    };
  }

  /** For calls that anybody may make: they concern no namespace. */
  #callWithoutClient(context: HandlerContext): Call {
    const none = undefined as unknown as Call["client"];
    return this.#call(context, ANYONE, ALL_NAMESPACES, none, none);
  }

  #refused(error: unknown, method: DescMethod): ConnectError {
    if (error instanceof ConnectError) return error;
    const { code, message, detail } = toRefusal(error);
    if (code === RpcCode.Internal)
      this.#params.log.error({ call: method.name, error: shownError(error) }, "a call failed with an unexpected error");
    else if (isHoldfastError(error) && message !== error.message)
      this.#params.log.warn({ call: method.name, code: error.code, error: error.message }, "the store failed a call");
    const refusal = new ConnectError(message, code as number, undefined, [{ desc: ErrorDetailSchema, value: detail }]);
    if (detail.retryAfterMs > 0n)
      refusal.metadata.set("retry-after", String(Math.ceil(Number(detail.retryAfterMs) / 1_000)));
    return refusal;
  }
}

/** Where a call that is refused is kept: in the log of the namespace that it names, if there can be one. */
function namedIn({ scope }: Permission, { namespace: given }: Named, principal: Principal): string {
  const namespace = typeof given === "string" && given !== "" ? given : ownNamespace(principal);
  return scope === "namespace" && isNamespaceName(namespace) ? namespace : ALL_NAMESPACES;
}

/** The id and the role of a key that a call has made. */
function madeKey(answer: unknown): string | undefined {
  const { token, info } = (answer ?? {}) as Partial<CreateTokenResponse>;
  return token && info ? `${info.id} (${Role[info.role].toLowerCase()})` : undefined;
}

/** The texts and the maps of texts of a request, and the token of its page: what stores compare and keep as text. */
export function requireReadable(message: object): void {
  for (const [field, value] of Object.entries(message)) {
    const texts = typeof value === "string" ? [value] : isTexts(field, value) ? Object.entries(value).flat() : [];
    for (const text of texts) {
      const fault = typeof text === "string" ? valueFault(text) : undefined;
      if (fault === undefined) continue;
      throw new HoldfastError("invalid_argument", `${field} ${fault}.`, { data: { argument: field } });
    }
  }
}

function isTexts(field: string, value: unknown): value is object {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  return Array.isArray(value) || field === "page" || !("$typeName" in value);
}

function subjectOf({ runId, externalId, scheduleId, workerId, id, namespace }: Named): string {
  const subject = runId || externalId || scheduleId || workerId || id;
  return subject || (typeof namespace === "string" ? namespace : "");
}

function shownError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Undefined if it takes longer. */
async function withinMs<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | undefined> {
  let end = (): void => {};
  const over = new Promise<undefined>((resolve) => {
    const timer = clock.setTimer(ms, () => resolve(undefined));
    end = () => timer.cancel();
  });
  return Promise.race([promise, over]).finally(() => end());
}
