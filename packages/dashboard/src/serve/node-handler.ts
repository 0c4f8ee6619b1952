/** The dashboard for servers that speak `node:http`: Express, Fastify, or none at all. HTTP/2 as well. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";
import type { Dashboard } from "../dashboard.ts";
import { noteAddress } from "../request-address.ts";

/** A request of `node:http`, or of `node:http2`; of Express, with what it adds. */
export type NodeRequest = (IncomingMessage | Http2ServerRequest) & {
  readonly originalUrl?: string;
  readonly body?: unknown;
};
/** The response that belongs to it. */
export type NodeResponse = ServerResponse | Http2ServerResponse;
/** Answers a request. */
export type NodeHandler = (request: NodeRequest, response: NodeResponse) => void;

/** The dashboard as a handler of `node:http`. */
export function toNode(board: Pick<Dashboard, "fetch">): NodeHandler {
  return (request, response) => {
    answer(board, request, response as ServerResponse).catch(() => {
      if (!response.headersSent) (response as ServerResponse).writeHead(500);
      (response as ServerResponse).end();
    });
  };
}

async function answer(board: Pick<Dashboard, "fetch">, request: NodeRequest, response: ServerResponse): Promise<void> {
  // No Request can be made of these.
  if (/^(?:TRACE|TRACK|CONNECT)$/i.test(request.method ?? "")) return void response.writeHead(405).end();
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const asked = requestOf(request, gone.signal);
  // Nobody reads the body of a GET; until somebody does, the request does not end.
  if (asked.body === null) request.resume();
  noteAddress(asked, addressOf(request));
  const made = await board.fetch(asked);
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of made.headers) if (name !== "set-cookie") headers[name] = value;
  const cookies = made.headers.getSetCookie();
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  response.writeHead(made.status, headers);
  if (made.body === null || request.method === "HEAD") {
    await made.body?.cancel();
    response.end();
    return;
  }
  response.flushHeaders?.();
  const body = Readable.fromWeb(made.body as WebStream<Uint8Array>);
  response.once("close", () => body.destroy());
  body.on("error", () => response.destroy());
  body.pipe(response);
}

function requestOf(request: NodeRequest, signal: AbortSignal): Request {
  const { headers: given } = request;
  const host = `${given[":authority"] ?? given.host ?? "localhost"}`;
  const secure = (request.socket as { readonly encrypted?: boolean } | undefined)?.encrypted === true;
  // Express takes the path that a handler is mounted at out of `url`.
  const path = request.originalUrl ?? request.url ?? "/";
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith(":") || value === undefined) continue;
    for (const one of [value].flat()) headers.append(name, one);
  }
  headers.set("host", host);
  const url = new URL(path.startsWith("/") ? path : "/", `${secure ? "https" : "http"}://${safeHost(host)}`);
  const method = request.method ?? "GET";
  if (method === "GET" || method === "HEAD") return new Request(url, { method, headers, signal });
  return new Request(url, { method, headers, signal, ...bodyOf(request) } as RequestInit);
}

/** A host that no URL can have is refused later, by its header. */
function safeHost(host: string): string {
  return URL.canParse(`http://${host}`) && !/[/?#@\\]/.test(host) ? host : "invalid";
}

/** A parser that ran before has read the body, and left what it made of it. */
function bodyOf(request: NodeRequest): object {
  const { body } = request;
  const wasRead = request.readableEnded || (request as { readonly readableDidRead?: boolean }).readableDidRead === true;
  if (!wasRead || body === undefined) return { body: Readable.toWeb(request as unknown as Readable), duplex: "half" };
  if (typeof body === "string" || body instanceof Uint8Array) return { body };
  return { body: JSON.stringify(body) };
}

function addressOf(request: NodeRequest): string | undefined {
  const socket = "stream" in request ? request.stream.session?.socket : request.socket;
  return socket?.remoteAddress;
}
