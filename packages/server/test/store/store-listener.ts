/** A listener for StoreService alone, which lets clients do duties: for the suites of stores. */
import { Buffer } from "node:buffer";
import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Readable } from "node:stream";
import { CALL_PATH, POLL_PATH, SESSION_PATH } from "@holdfast/protocol/store";
import { type Logger, silentLogger } from "holdfast";
import { type OpenedStore, systemPorts } from "holdfast/adapter";
import { ANYBODY, type Caller } from "../../src/store-service/caller.ts";
import { serveSession } from "../../src/store-service/http2-session.ts";
import type { ServiceLimits } from "../../src/store-service/service-limits.ts";
import { StoreService } from "../../src/store-service/store-service.ts";

const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;
const REQUEST_BYTES_MAX = 65 * 1024 * 1024;

export interface StoreServerOptions {
  readonly port?: number;
  readonly host?: string;
  readonly limits?: Partial<ServiceLimits>;
  readonly log?: Logger;
  /** Who a connection is, by the token that it brings; undefined: nobody. */
  readonly callerOf?: (token: string | undefined) => Caller | undefined;
  /** Without HTTP/2, as an old proxy. */
  readonly http1?: boolean;
}

export interface StoreServer {
  readonly url: string;
  readonly port: number;
  readonly service: StoreService;
  /** Sends the sessions away, and closes. */
  drain(): Promise<void>;
  /** At once, as if the process had died. The store stays open. */
  close(): Promise<void>;
}

export async function openStoreServer(opened: OpenedStore, options: StoreServerOptions = {}): Promise<StoreServer> {
  const { port = 0, host = "127.0.0.1", limits = {}, http1 = false, log = silentLogger } = options;
  const callerOf = options.callerOf ?? (() => ANYBODY);
  const service = new StoreService({ ...opened, ...systemPorts, log, limits });
  const sockets = new Set<Socket>();
  const server = http1
    ? http.createServer(
        (request, response) => void unary(request, (status, body) => response.writeHead(status).end(body)),
      )
    : http2.createServer({ settings: { initialWindowSize: STREAM_WINDOW_BYTES } });

  async function unary(
    request: Pick<http.IncomingMessage, "url" | "headers"> & Readable,
    answer: (status: number, body: Uint8Array) => void,
  ): Promise<void> {
    const caller = callerOf(bearer(request.headers.authorization));
    if (!caller) return answer(401, Buffer.alloc(0));
    const body = await readAll(request).catch(() => undefined);
    if (!body) return answer(413, Buffer.alloc(0));
    if (request.url === CALL_PATH) answer(200, await service.call(body, caller));
    else if (request.url === POLL_PATH) answer(200, await service.poll(body, caller));
    else answer(404, Buffer.alloc(0));
  }

  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => sockets.delete(socket));
  });
  if (!http1) {
    server.on("session", (session: http2.ServerHttp2Session) => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
    server.on("stream", (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
      stream.on("error", () => {});
      const caller = callerOf(bearer(headers.authorization));
      if (headers[":path"] !== SESSION_PATH) stream.respond({ ":status": 404 }, { endStream: true });
      else if (!caller)
        stream.respond(
          {
            ":status": 200,
            "content-type": "application/grpc+proto",
            "grpc-status": "16",
            "grpc-message": "unknown token",
          },
          { endStream: true },
        );
      else serveSession(service, stream, caller);
    });
  }
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const actual = (server.address() as AddressInfo).port;
  const close = async (): Promise<void> => {
    service.close();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const drain = async (): Promise<void> => {
    await service.drain();
    await close();
  };
  return { url: `http://${host}:${actual}`, port: actual, service, drain, close };
}

function bearer(header: string | undefined): string | undefined {
  return /^Bearer (\S+)$/i.exec(header ?? "")?.[1];
}

async function readAll(request: Readable): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REQUEST_BYTES_MAX) throw new Error("the request is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
