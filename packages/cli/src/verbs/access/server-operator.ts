/** A server, asked with JSON over HTTP: AdminService and NamespaceService. What may be done is up to the token. */
import type { Role } from "holdfast/adapter";
import type { Call } from "../../command/call.ts";
import { EXIT, type ExitCode } from "../../io/exit-code.ts";
import { CommandError } from "../../io/failure.ts";
import type { Target } from "../../io/target.ts";
import type { AccessKey, AuditEvent, NamespaceView, NewKey, Operator } from "./operator.ts";

const ALL = "*";
const PAGE = 500;
const ADMIN = "holdfast.v1.AdminService";
const NAMESPACES = "holdfast.v1.NamespaceService";
/** A server that answers at all answers these at once. */
const PATIENCE_MS = 20_000;

/** Fields that have the value that they have without being set are left out of JSON. */
type Json = Readonly<Record<string, unknown>>;

export class ServerOperator implements Operator {
  readonly #call: Call;
  readonly #target: Target;

  constructor(call: Call, target: Target) {
    this.#call = call;
    this.#target = target;
  }

  async createToken({ name, role, namespace, expiresAt }: Parameters<Operator["createToken"]>[0]): Promise<NewKey> {
    const asked = { name, namespace, role: `ROLE_${role.toUpperCase()}`, ...(expiresAt ? { expiresAt } : {}) };
    const { token, info } = await this.#ask(ADMIN, "CreateToken", asked);
    return { ...keyOf(info as Json), token: String(token) };
  }

  async listTokens(namespace: string | null): Promise<readonly AccessKey[]> {
    const { tokens } = await this.#askFor(namespace, "ListTokens", {});
    return list(tokens).map(keyOf);
  }

  async revokeToken(id: string, namespace: string | null): Promise<AccessKey> {
    const { info } = await this.#askFor(namespace, "RevokeToken", { id });
    return keyOf(info as Json);
  }

  async createNamespace(asked: Parameters<Operator["createNamespace"]>[0]): Promise<NamespaceView> {
    return namespaceOf((await this.#ask(NAMESPACES, "CreateNamespace", asked))["namespace"] as Json);
  }

  async listNamespaces(): Promise<readonly NamespaceView[]> {
    const all: NamespaceView[] = [];
    for (let pageToken = ""; ; ) {
      const page = { pageSize: PAGE, pageToken };
      const answer = await this.#ask(NAMESPACES, "ListNamespaces", { page });
      all.push(...list(answer["namespaces"]).map(namespaceOf));
      pageToken = nextPage(answer);
      if (pageToken === "") return all;
    }
  }

  async setEnabled(namespace: string, enabled: boolean): Promise<NamespaceView> {
    const method = enabled ? "EnableNamespace" : "DisableNamespace";
    return namespaceOf((await this.#ask(NAMESPACES, method, { namespace }))["namespace"] as Json);
  }

  async listAudit(namespace: string | null, limit: number): Promise<readonly AuditEvent[]> {
    const all: AuditEvent[] = [];
    for (let pageToken = ""; all.length < limit; ) {
      const page = { pageSize: Math.min(PAGE, limit - all.length), pageToken };
      const answer = await this.#askFor(namespace, "ListAuditEvents", { page });
      all.push(...list(answer["events"]).map(eventOf));
      pageToken = nextPage(answer);
      if (pageToken === "") break;
    }
    return all;
  }

  async close(): Promise<void> {}

  /** Without a namespace: all of them, or, for a token of one namespace, that one. */
  async #askFor(namespace: string | null, method: string, asked: Json): Promise<Json> {
    try {
      return await this.#ask(ADMIN, method, { ...asked, namespace: namespace ?? ALL });
    } catch (error) {
      if (namespace !== null || !(error instanceof CommandError) || error.code !== "permission_denied") throw error;
      return this.#ask(ADMIN, method, asked);
    }
  }

  async #ask(service: string, method: string, asked: Json): Promise<Json> {
    const { url, token } = this.#target;
    const place = `${url.replace(/\/+$/, "")}/${service}/${method}`;
    let response: Response;
    let text: string;
    const over = new AbortController();
    const answered = new AbortController();
    const { io } = this.#call;
    void io.wait(PATIENCE_MS, AbortSignal.any([answered.signal, io.interrupted])).then(() => over.abort());
    try {
      response = await fetch(place, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(asked),
        signal: over.signal,
      });
      text = await response.text();
    } catch (cause) {
      throw unreachable(url, cause);
    } finally {
      answered.abort();
    }
    const answer = parsed(text);
    if (response.ok && answer !== undefined) return answer;
    throw refusal(url, response.status, answer);
  }
}

function unreachable(url: string, cause: unknown): CommandError {
  const { message, cause: deeper } = cause as Error;
  const reason = deeper instanceof Error ? deeper.message : message;
  return new CommandError(`The server at ${url} cannot be reached: ${reason}.`, {
    code: "store_unavailable",
    kind: "Unavailable",
    exitCode: EXIT.unreachable,
    data: { url },
    cause,
  });
}

/** By the codes of Connect; ours, with the kind, is in the details. */
const EXITS: Readonly<Record<string, ExitCode>> = {
  unauthenticated: EXIT.notAllowed,
  permission_denied: EXIT.notAllowed,
  not_found: EXIT.notFound,
  already_exists: EXIT.conflict,
  failed_precondition: EXIT.conflict,
  aborted: EXIT.conflict,
  invalid_argument: EXIT.usage,
  unavailable: EXIT.unreachable,
  resource_exhausted: EXIT.unreachable,
  deadline_exceeded: EXIT.timeout,
};

function refusal(url: string, status: number, answer: Json | undefined): CommandError {
  const { code, message, details } = answer ?? {};
  if (typeof code !== "string" || typeof message !== "string")
    return new CommandError(
      `${url} answers with HTTP status ${status}, which is not how a server of Holdfast answers.`,
      {
        code: "store_unavailable",
        kind: "Unavailable",
        exitCode: EXIT.unreachable,
        data: { url, status },
      },
    );
  const [detail] = list(details).map(({ debug }) => debug as Json | undefined);
  const own = (detail?.["metadata"] ?? {}) as { readonly code?: string; readonly kind?: string };
  return new CommandError(message, {
    code: own.code ?? code,
    kind: own.kind ?? "Unknown",
    exitCode: EXITS[code] ?? EXIT.failed,
  });
}

function parsed(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

function nextPage({ page }: Json): string {
  return String((page as Json | undefined)?.["nextPageToken"] ?? "");
}

function keyOf(key: Json): AccessKey {
  const at = (name: string): Date | null => (key[name] === undefined ? null : new Date(String(key[name])));
  return {
    id: text(key, "id"),
    name: text(key, "name"),
    role: text(key, "role")
      .replace(/^ROLE_/, "")
      .toLowerCase() as Role,
    namespace: text(key, "namespace"),
    createdAt: new Date(text(key, "createdAt")),
    expiresAt: at("expiresAt"),
    lastUsedAt: at("lastUsedAt"),
    revokedAt: at("revokedAt"),
  };
}

function namespaceOf(row: Json): NamespaceView {
  return {
    namespace: text(row, "namespace"),
    displayName: text(row, "displayName"),
    description: text(row, "description"),
    enabled: row["enabled"] === true,
    createdAt: new Date(text(row, "createdAt")),
    updatedAt: new Date(text(row, "updatedAt")),
  };
}

function eventOf(event: Json): AuditEvent {
  const [actor, action, namespace] = [text(event, "actor"), text(event, "action"), text(event, "namespace")];
  const [subject, outcome, address] = [text(event, "subject"), text(event, "outcome"), text(event, "address")];
  return { at: new Date(text(event, "at")), actor, action, namespace, subject, outcome, address };
}

function text(row: Json, name: string): string {
  return String(row[name] ?? "");
}
