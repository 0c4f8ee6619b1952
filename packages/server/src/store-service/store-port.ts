/**
 * StoreService on the port of the server: who is at the other end is asked before the first byte is read, and again for as long as the
 * session lasts. A key that was revoked, or a token that has expired, ends its sessions.
 */
import { Buffer } from "node:buffer";
import type { ServerHttp2Stream } from "node:http2";
import { toRefusal } from "@holdfast/protocol";
import { CALL_PATH, POLL_PATH, SESSION_PATH } from "@holdfast/protocol/store";
import { type Clock, HoldfastError, isHoldfastError, type Logger, type Timer } from "holdfast/adapter";
import type { AuditLog } from "../access/audit-log.ts";
import type { Authenticator, Credentials } from "../access/authenticator.ts";
import { ANYONE, isAllowed, type Principal } from "../access/principal.ts";
import { type NodeResponse, sendText } from "../port/answers.ts";
import { endWithHeaders, grpcMessage } from "../port/refused-call.ts";
import { factsOf, type NodeRequest } from "../port/request-facts.ts";
import type { Admission } from "./admission.ts";
import type { AuditedOperation, Caller } from "./caller.ts";
import { serveSession } from "./http2-session.ts";
import type { MountedSession, StoreService } from "./store-service.ts";

const REQUEST_BYTES_MAX = 65 * 1024 * 1024;
/** With the seconds that answers about keys are remembered, a key that was revoked has no sessions after a minute. */
export const RECHECK_MS = 30_000;
const HTTP_STATUS: ReadonlyMap<string, number> = new Map([
  ["unauthenticated", 401],
  ["permission_denied", 403],
  ["rate_limited", 429],
]);

export interface StorePortParams {
  readonly service: StoreService;
  readonly authenticator: Authenticator;
  readonly admission: Admission;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recheckMs: number;
}

export class StorePort {
  readonly #params: StorePortParams;

  constructor(params: StorePortParams) {
    this.#params = params;
  }

  /** Takes as long as the client wants. */
  isStream(path: string): boolean {
    return path === SESSION_PATH;
  }

  isCall(path: string): boolean {
    return path === SESSION_PATH || path === CALL_PATH || path === POLL_PATH;
  }

  async answer(request: NodeRequest, path: string, response: NodeResponse): Promise<void> {
    if (path !== SESSION_PATH) return this.#unary(request, path, response);
    if (!("stream" in request)) return sendText(response, 505, "A session needs HTTP/2.\n");
    const { stream } = request;
    const credentials = credentialsOf(request);
    try {
      const known = new KnownCaller(this.#params, await this.#principalOf(credentials), credentials.address);
      if (!stream.destroyed) this.#watch(serveSession(this.#params.service, stream, known), stream, known, credentials);
    } catch (error) {
      refuse(stream, error);
    }
  }

  async #unary(request: NodeRequest, path: string, response: NodeResponse): Promise<void> {
    const { service } = this.#params;
    const credentials = credentialsOf(request);
    let caller: Caller;
    try {
      caller = new KnownCaller(this.#params, await this.#principalOf(credentials), credentials.address);
    } catch (error) {
      const { code, message } = told(error);
      return sendText(response, HTTP_STATUS.get(code) ?? 503, `${message}\n`);
    }
    const body = await readAll(request);
    if (!body) return sendText(response, 413, "The request is too large.\n");
    const answer = path === CALL_PATH ? await service.call(body, caller) : await service.poll(body, caller);
    const to = response as Extract<NodeResponse, { req: unknown }>;
    to.writeHead(200, { "content-type": "application/proto", "cache-control": "no-store" });
    to.end(answer);
  }

  async #principalOf(credentials: Credentials): Promise<Principal> {
    const principal = await this.#params.authenticator.principalOf(credentials);
    if (principal.grants.length > 0) return principal;
    throw new HoldfastError("permission_denied", `The token of "${principal.id}" allows nothing.`);
  }

  /** Asks again from time to time. A store that cannot tell now ends nothing. */
  #watch(session: MountedSession, stream: ServerHttp2Stream, known: KnownCaller, credentials: Credentials): void {
    const { clock, log, recheckMs } = this.#params;
    let timer: Timer;
    const look = async (): Promise<void> => {
      try {
        known.principal = await this.#principalOf(credentials);
      } catch (error) {
        if (isHoldfastError(error, "unauthenticated") || isHoldfastError(error, "permission_denied")) {
          log.info({ principal: known.principal.id, code: error.code }, "a session was ended: its token opens nothing");
          return session.close();
        }
      }
      if (!stream.destroyed) schedule();
    };
    const schedule = (): void => {
      timer = clock.setTimer(recheckMs, () => void look());
      timer.unref?.();
    };
    schedule();
    stream.once("close", () => timer.cancel());
  }
}

/** Whoever has logged in, by what is known of them now. */
class KnownCaller implements Caller {
  readonly #params: Pick<StorePortParams, "admission" | "audit">;
  readonly #address: string;
  principal: Principal;

  constructor(params: Pick<StorePortParams, "admission" | "audit">, principal: Principal, address: string) {
    this.#params = params;
    this.#address = address;
    this.principal = principal;
  }

  get id(): string | undefined {
    return this.principal === ANYONE ? undefined : this.principal.id;
  }

  allows: Caller["allows"] = (role, namespace) => isAllowed(this.principal, role, namespace);

  admit: NonNullable<Caller["admit"]> = (call) => this.#params.admission.admit(this.principal, call);

  audit(done: AuditedOperation): void {
    this.#params.audit.add({ ...done, actor: this.principal.id, address: this.#address });
  }
}

function credentialsOf(request: NodeRequest): Credentials {
  return { authorization: request.headers.authorization ?? null, ...factsOf(request) };
}

function refuse(stream: ServerHttp2Stream, error: unknown): void {
  const { status, message } = told(error);
  const said = { "grpc-status": `${status}`, "grpc-message": grpcMessage(message) };
  endWithHeaders(stream, { "content-type": "application/grpc+proto", ...said });
}

function told(error: unknown): { readonly code: string; readonly status: number; readonly message: string } {
  const { code: status, message } = toRefusal(error);
  return { code: isHoldfastError(error) ? error.code : "internal", status, message };
}

async function readAll(request: NodeRequest): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REQUEST_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
