/** Every request comes through here: refused, answered by a page of the server itself, or passed to the services. */
import type { IncomingMessage } from "node:http";
import { constants, type Http2ServerRequest } from "node:http2";
import type { DescMethod } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Clock } from "holdfast/adapter";
import type { StorePort } from "../store-service/store-port.ts";
import { type NodeResponse, sendJson, sendText } from "./answers.ts";
import { type BrowserRules, browserFault } from "./browser-rules.ts";
import { callFault } from "./call-faults.ts";
import { BODY_MS_MAX, type NodeHandler } from "./listener.ts";
import { refuseCall, withPlainMessages } from "./refused-call.ts";
import { factsOf, type NodeRequest } from "./request-facts.ts";

export interface RequestsParams {
  readonly clock: Clock;
  readonly rules: BrowserRules;
  /** The calls. */
  readonly services: NodeHandler;
  /** Undefined: there is no such call. */
  readonly methodOf: (path: string) => DescMethod | undefined;
  /**
   * Why whoever sends the request may make no such call, if that is so; undefined where everybody may. It is asked before the body is
   * read: nobody without a token makes the server keep one.
   */
  readonly stranger: ((method: DescMethod, request: NodeRequest) => Promise<ConnectError | undefined>) | undefined;
  /** The store, for Holdfast's own clients. */
  readonly store: Pick<StorePort, "isCall" | "isStream" | "answer">;
  readonly hooks: (request: NodeRequest, path: string, response: NodeResponse) => Promise<void>;
  readonly pages: NodeHandler | undefined;
  readonly unready: () => Promise<string>;
  /** Throws if whoever asks may not. */
  readonly requireReader: (authorization: string | null, facts: ReturnType<typeof factsOf>) => Promise<void>;
  readonly metrics: () => Promise<string>;
  readonly openApi: unknown;
  readonly bodyMsMax?: number | undefined;
}

export class Requests {
  readonly #params: RequestsParams;
  readonly #open = new Set<NodeResponse>();
  #whenIdle: (() => void) | undefined;

  constructor(params: RequestsParams) {
    this.#params = params;
  }

  readonly handler: NodeHandler = (request, response) => {
    const path = (request.url ?? "/").split("?", 1)[0] as string;
    this.#open.add(response);
    (response as NodeJS.EventEmitter).once("close", () => this.#left(response));
    // A connection that breaks is the client's affair.
    (request as NodeJS.EventEmitter).on("error", () => {});
    (response as NodeJS.EventEmitter).on("error", () => {});
    const fault = browserFault(request, this.#params.rules);
    if (fault !== undefined) return sendJson(response, 403, { code: "permission_denied", message: fault });
    const { methodOf, store } = this.#params;
    const method = methodOf(path);
    const kind = method?.methodKind;
    // The request of such a stream takes as long as its caller wants.
    if (kind !== "bidi_streaming" && kind !== "client_streaming" && !store.isStream(path)) this.#limitBody(request);
    if (method !== undefined) return this.#call(request, response, method);
    const answered = store.isCall(path) ? store.answer(request, path, response) : this.#answer(request, path, response);
    answered.catch(() => sendText(response, 500, "The server met an error.\n"));
  };

  /** Resolves when every request is answered, or the time is up. */
  async idle(ms: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#params.clock.setTimer(ms, resolve);
      this.#whenIdle = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #call(request: NodeRequest, response: NodeResponse, method: DescMethod): void {
    const { services, stranger } = this.#params;
    const fault = callFault(request, method.methodKind);
    if (fault !== undefined) {
      const { status, headers, ...said } = fault;
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      return sendJson(response, status, said);
    }
    // What throws in here would end the process: services build a URL of what the request says that its host is, if it says anything.
    const serve = (): void => {
      try {
        if (isGrpc(request)) withPlainMessages(response);
        services(request, response);
      } catch {
        request.resume();
        sendJson(response, 400, {
          code: "invalid_argument",
          message: "The request names no host, or none that can be.",
        });
      }
    };
    if (stranger === undefined) return serve();
    void stranger(method, request).then((refusal) => {
      if (refusal !== undefined) refuseCall(request, response, refusal);
      else if (!response.destroyed) serve();
    });
  }

  #left(response: NodeResponse): void {
    this.#open.delete(response);
    if (this.#open.size === 0) this.#whenIdle?.();
  }

  #limitBody(request: NodeRequest): void {
    const { clock, bodyMsMax = BODY_MS_MAX } = this.#params;
    const timer = clock.setTimer(bodyMsMax, () => cut(request));
    (request as NodeJS.EventEmitter).once("end", () => timer.cancel()).once("close", () => timer.cancel());
  }

  async #answer(request: NodeRequest, path: string, response: NodeResponse): Promise<void> {
    const { unready, metrics, openApi, hooks, pages } = this.#params;
    if (path.startsWith("/hooks/")) return hooks(request, path, response);
    if (path === "/livez") return sendText(response, 200, "ok\n");
    if (path === "/readyz") {
      const why = await unready();
      return sendText(response, why === "" ? 200 : 503, why === "" ? "ok\n" : `${why}\n`);
    }
    if (path === "/openapi.json") return sendJson(response, 200, openApi);
    if (path === "/metrics") {
      if (!(await this.#mayRead(request))) return sendText(response, 401, "A token with the role reader is needed.\n");
      return sendText(response, 200, await metrics(), "text/plain; version=0.0.4; charset=utf-8");
    }
    if (pages) return pages(request, response);
    sendText(response, 404, "There is nothing here. The calls are described in /openapi.json.\n");
  }

  async #mayRead(request: NodeRequest): Promise<boolean> {
    try {
      await this.#params.requireReader(request.headers.authorization ?? null, factsOf(request));
      return true;
    } catch {
      return false;
    }
  }
}

/** Not gRPC-Web, whose trailers are in the body. */
function isGrpc({ headers }: NodeRequest): boolean {
  return /^application\/grpc(?:\+|$)/.test(headers["content-type"] ?? "");
}

/** Slower than anybody is: the stream goes, or the whole connection where there is but one request. */
function cut(request: NodeRequest): void {
  if ("stream" in request) (request as Http2ServerRequest).stream.close(constants.NGHTTP2_CANCEL);
  else (request as IncomingMessage).socket.destroy();
}
