/** One Fetch handler: pages, reads, actions and the live stream. */
import type { Client } from "holdfast";
import { type ClientStore, clientStore } from "holdfast/adapter";
import { requireKnown } from "./acts/json-input.ts";
import { jsonAnswer, refusalAnswer } from "./answers/json-answer.ts";
import { fileAnswer, pageAnswer } from "./answers/page-files.ts";
import { Refusal, refusal, refusalOf } from "./answers/refusal.ts";
import { contentPolicy, securityHeaders } from "./answers/security-headers.ts";
import type { SessionView } from "./api/api-messages.ts";
import { decodedPart } from "./api/path-part.ts";
import { type Found, findRoute } from "./api/routes.ts";
import { AuditTrail } from "./audit-trail.ts";
import { baseOf, checkDashboardOptions, type DashboardOptions } from "./dashboard-options.ts";
import { changeFault, hostFault, readFault } from "./gate/browser-rules.ts";
import { type Logins, visitorAt } from "./gate/door.ts";
import { hasRole, mayOpen } from "./gate/visitor.ts";
import { liveStream } from "./live/stream.ts";
import { isTopic } from "./live/topics.ts";
import { NamespaceClients } from "./namespace-clients.ts";
import type { Ask, Scope } from "./reads/scope.ts";
import { ShownValues } from "./reads/shown-value.ts";
import { VERSION } from "./version.ts";

const BODY_BYTES_MAX = 4 * 1024 * 1024;
const TOPICS_MAX = 20;
const OPEN_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

/** What `dashboard` returns. */
export interface Dashboard {
  /** The path that it is mounted at, without a slash at its end. */
  readonly base: string;
  /** Answers every request below the base. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** @internal Ends streams; everything else goes on. */
  drain(): void;
  /** Ends streams, and lets go of what it has opened. The client stays open. */
  close(): Promise<void>;
}

type Known = Exclude<Awaited<ReturnType<typeof visitorAt>>, Response>;

/** The dashboard of the store that the client has opened. */
export function dashboard(hf: Client, options: DashboardOptions): Dashboard {
  return makeDashboard(hf, options);
}

export function makeDashboard(hf: Client, options: DashboardOptions, logins?: Logins): Dashboard {
  checkDashboardOptions(options);
  const board = new Board(hf, options, logins);
  return {
    base: baseOf(options),
    fetch: (request) => board.fetch(request),
    drain: () => board.drain(),
    close: () => board.close(),
  };
}

class Board {
  readonly #hf: Client;
  readonly #options: DashboardOptions;
  readonly #logins: Logins | undefined;
  readonly #store: ClientStore;
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #clients: NamespaceClients;
  readonly #audit: AuditTrail;
  readonly #streams = new Set<() => void>();

  constructor(hf: Client, options: DashboardOptions, logins: Logins | undefined) {
    this.#hf = hf;
    this.#options = options;
    this.#logins = logins;
    this.#store = clientStore(hf);
    this.#base = baseOf(options);
    const { codecUrl } = options;
    this.#headers = securityHeaders(contentPolicy(codecUrl === undefined ? undefined : new URL(codecUrl).origin));
    this.#clients = new NamespaceClients(hf, this.#store);
    this.#audit = new AuditTrail(this.#store);
  }

  async fetch(request: Request): Promise<Response> {
    const answer = await this.#answer(request).catch((error: unknown) => this.#refused(request, error));
    // The headers of a redirection cannot be changed, and `auth` may return one.
    const headers = new Headers(answer.headers);
    for (const [name, value] of Object.entries(this.#headers)) if (!headers.has(name)) headers.set(name, value);
    const { status, statusText } = answer;
    return new Response(answer.body, { status, statusText, headers });
  }

  drain(): void {
    for (const end of this.#streams) end();
  }

  async close(): Promise<void> {
    this.drain();
    await this.#clients.close();
    await this.#audit.flush();
  }

  async #refused(request: Request, error: unknown): Promise<Response> {
    const known = refusalOf(error);
    if (known) return refusalAnswer(request, this.#logins && known.status === 401 ? withLogin(known) : known);
    this.#store.log.error({ error: String(error), url: new URL(request.url).pathname }, "the dashboard met an error");
    return refusalAnswer(
      request,
      refusal(500, "internal", "The dashboard met an error. The log of its process has it."),
    );
  }

  async #answer(request: Request): Promise<Response> {
    const { auth, hosts = auth === "open" ? OPEN_HOSTS : undefined, origins = [] } = this.#options;
    const { method } = request;
    const reads = method === "GET" || method === "HEAD";
    if (!reads && method !== "POST") throw refusal(405, "bad_request", "Use GET or POST.");
    const foreign = hostFault(request, hosts);
    if (foreign) throw foreign;
    const path = this.#pathOf(request);
    // Nothing can come of it: that is what a program with a wrong path is told, whatever headers it sends.
    if (!reads && path?.[0] !== "api") throw refusal(404, "not_found", "There is nothing to send this to.");
    const fault = reads ? readFault(request, origins) : changeFault(request, origins);
    if (fault) throw fault;
    if (path === undefined) return Response.redirect(new URL(`${this.#base}/`, request.url), 308);
    if (path[0] === "api") return this.#call(request, path.slice(1));
    // Files are public: they contain nothing of the store. So somebody who is not let in gets a page that says so.
    const file = fileAnswer(request, path.join("/"));
    if (file) return file;
    if (path[0] === "assets") throw refusal(404, "not_found", "There is no such file.");
    if (!this.#logins) {
      const found = await visitorAt(request, auth);
      if (found instanceof Response) return found;
    }
    return pageAnswer(`${this.#base}/`);
  }

  /** The parts behind the base; undefined for the base without its slash. */
  #pathOf(request: Request): string[] | undefined {
    const { pathname } = new URL(request.url);
    if (this.#base !== "" && pathname === this.#base) return undefined;
    if (!pathname.startsWith(`${this.#base}/`))
      throw refusal(404, "not_found", `The dashboard is at ${this.#base}/: check the option base.`);
    try {
      return pathname
        .slice(this.#base.length + 1)
        .split("/")
        .map((part) => decodedPart(decodeURIComponent(part)));
    } catch {
      throw refusal(400, "bad_request", "The path is not percent-encoded.");
    }
  }

  async #call(request: Request, path: readonly string[]): Promise<Response> {
    const [first, ...rest] = path;
    if (first === "login" && rest.length === 0) return this.#login(request);
    if (first === "logout" && rest.length === 0) return this.#logout(request);
    const visitor = await visitorAt(request, this.#options.auth);
    if (visitor instanceof Response) return visitor;
    if (first === "session" && rest.length === 0) return jsonAnswer(request, await this.#session(visitor));
    const namespace = first ?? "";
    if (namespace === "" || !mayOpen(visitor, namespace))
      throw refusal(403, "permission_denied", `Namespace "${namespace.slice(0, 100)}" is not yours to open.`);
    if (!(await this.#clients.isKnown(namespace, visitor)))
      throw refusal(
        404,
        "not_found",
        `There is no namespace "${namespace.slice(0, 100)}": it was not created, and nothing was ever started in it. Check its name.`,
      );
    const scope = this.#scopeOf(visitor, namespace);
    if (rest.length === 1 && rest[0] === "live") return this.#live(request, scope);
    const found = findRoute(request.method === "HEAD" ? "GET" : request.method, rest);
    if (!found)
      throw refusal(404, "not_found", `There is no ${request.method} api/${path.map(encodeURIComponent).join("/")}.`);
    return this.#carryOut(request, scope, found);
  }

  async #carryOut(request: Request, scope: Scope, { route, parts }: Found): Promise<Response> {
    const { role, method, action, answer, fields } = route;
    if (!hasRole(scope.visitor, role))
      throw refusal(403, "permission_denied", `This needs the role ${role}; yours is ${scope.visitor.role}.`);
    if (action !== undefined && this.#options.readOnly)
      throw refusal(403, "permission_denied", "This dashboard is read-only.");
    const body = method === "POST" ? await bodyOf(request) : undefined;
    if (fields) requireKnown(body, fields);
    const ask: Ask = { scope, parts, query: new URL(request.url).searchParams, body, request };
    if (action === undefined) return answered(request, await answer(ask));
    try {
      const made = await answer(ask);
      this.#audit.add(ask, action, "ok");
      return await answered(request, made);
    } catch (error) {
      this.#audit.add(ask, action, refusalOf(error)?.body.code ?? "internal");
      throw error;
    }
  }

  #scopeOf(visitor: Known, namespace: string): Scope {
    const { view, act } = this.#clients.of(namespace);
    const { redact, codecUrl } = this.#options;
    const values = new ShownValues(this.#store.codec, visitor.payloads, redact, codecUrl !== undefined);
    return { namespace, visitor, view, act, store: this.#store, values, codecUrl: codecUrl ?? null };
  }

  async #session(visitor: Known): Promise<SessionView> {
    const namespaces = await this.#clients.names(visitor);
    return {
      user: visitor.user,
      role: visitor.role,
      namespaces,
      namespace: namespaces.includes(this.#hf.namespace) ? this.#hf.namespace : (namespaces[0] ?? ""),
      payloads: visitor.payloads,
      readOnly: this.#options.readOnly ?? false,
      logout: this.#logins !== undefined,
      codecUrl: this.#options.codecUrl ?? null,
      version: VERSION,
      now: Math.floor((await this.#store.store.readClock()).now),
    };
  }

  async #login(request: Request): Promise<Response> {
    if (!this.#logins || request.method !== "POST") throw refusal(404, "not_found", "There is no login here.");
    const { key } = (await bodyOf(request)) as { readonly key?: unknown };
    const { visitor, cookie } = await this.#logins.login(key, request);
    const answer = await jsonAnswer(request, await this.#session({ ...visitor }));
    answer.headers.set("set-cookie", cookie);
    return answer;
  }

  async #logout(request: Request): Promise<Response> {
    if (!this.#logins || request.method !== "POST") throw refusal(404, "not_found", "There is no login here.");
    return new Response(null, { status: 204, headers: { "set-cookie": await this.#logins.logout(request) } });
  }

  async #live(request: Request, scope: Scope): Promise<Response> {
    const asked = new URL(request.url).searchParams.get("topics") ?? "";
    const names = [
      ...new Set(
        asked
          .split(",")
          .filter((one) => one !== "")
          .map(decodedTopic),
      ),
    ];
    const wrong = names.find((one) => !isTopic(one));
    if (wrong !== undefined || names.length === 0 || names.length > TOPICS_MAX)
      throw refusal(
        400,
        "bad_request",
        `Name 1 to ${TOPICS_MAX} topics${wrong === undefined ? "" : `; "${wrong.slice(0, 50)}" is none`}.`,
      );
    const stillWelcome = async (): Promise<boolean> => {
      const found = await visitorAt(request, this.#options.auth);
      return !(found instanceof Response) && mayOpen(found, scope.namespace);
    };
    return liveStream({
      topics: this.#clients.topics(scope.namespace),
      names,
      clock: this.#store.clock,
      now: Math.floor((await this.#store.store.readClock()).now),
      reconnected: request.headers.has("last-event-id"),
      stillWelcome,
      follow: (ended) => this.#logins?.follow(request, ended) ?? (() => {}),
      onClose: (close) => {
        this.#streams.add(close);
        return () => this.#streams.delete(close);
      },
    });
  }
}

async function answered(request: Request, made: object | Response): Promise<Response> {
  return made instanceof Response ? made : jsonAnswer(request, made);
}

function withLogin({ status, body }: Refusal): Refusal {
  return new Refusal(status, { ...body, login: true });
}

function decodedTopic(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** No more than the limit is read. */
async function bodyOf(request: Request): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) throw refusal(413, "too_large", `A request has at most ${BODY_BYTES_MAX} bytes.`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw refusal(400, "bad_request", "The body is not valid JSON.");
  }
}
