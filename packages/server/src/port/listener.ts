/**
 * One port for HTTP/1.1 and HTTP/2. Without TLS the first bytes of a connection decide: HTTP/2 begins with a fixed text. With TLS
 * the two sides agree on a protocol. Every wait for a client has a limit.
 */
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import type { Clock, Logger } from "holdfast/adapter";
import type { ServerCounts } from "./server-counts.ts";

/** Headers must be complete within this time from when the connection, or the request, began. */
export const HEADERS_MS_MAX = 10_000;
/** And the whole request within this time. */
export const BODY_MS_MAX = 30_000;
/** An HTTP/2 connection that nobody uses is closed; clients open another one when they need it. */
const IDLE_SESSION_MS = 10 * 60 * 1000;
const HEADER_BYTES_MAX = 16 * 1024;
const HEADER_PAIRS_MAX = 128;
const STREAMS_MAX = 256;
const SESSION_MEMORY_MB = 16;
/** Flow control: enough for 50 ms of distance at 80 MB/s. */
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;
const CHECK_EVERY_MS = 1_000;
const CONNECTIONS_MAX = 10_000;
const PREFACE = Buffer.from("PRI * HTTP/2.0");

export interface TlsOptions {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  /** Who signs client certificates; with it they are asked for. */
  readonly ca?: string | Buffer;
}

export type NodeHandler = (
  request: http.IncomingMessage | http2.Http2ServerRequest,
  response: http.ServerResponse | http2.Http2ServerResponse,
) => void;

export interface ListenerParams {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsOptions | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly counts: ServerCounts;
  readonly handler: NodeHandler;
  /** For tests: how long a client may take. */
  readonly headersMsMax?: number;
  readonly bodyMsMax?: number;
}

export class Listener {
  readonly #params: ListenerParams;
  readonly #sessions = new Set<http2.ServerHttp2Session>();
  readonly #sockets = new Set<net.Socket>();
  readonly #servers: (http.Server | http2.Http2Server | http2.Http2SecureServer)[] = [];
  readonly #front: net.Server;

  private constructor(params: ListenerParams) {
    this.#params = params;
    this.#front = params.tls ? this.#secure(params.tls) : this.#sniffing();
    this.#front.maxConnections = CONNECTIONS_MAX;
    this.#front.on("connection", (socket: net.Socket) => this.#count(socket));
  }

  static async open(params: ListenerParams): Promise<Listener> {
    const listener = new Listener(params);
    await new Promise<void>((resolve, reject) => {
      listener.#front.once("error", reject);
      listener.#front.listen(params.port, params.host, resolve);
    });
    return listener;
  }

  get port(): number {
    return (this.#front.address() as net.AddressInfo).port;
  }

  /** No new connections; those of HTTP/2 are told to go elsewhere, and finish what they have begun. */
  drain(): void {
    this.#front.close();
    for (const session of this.#sessions) session.close();
    for (const server of this.#servers) if (server instanceof http.Server) server.closeIdleConnections();
  }

  /** Cuts whatever is left. */
  async close(): Promise<void> {
    const closed = this.#front.listening
      ? new Promise<void>((resolve) => this.#front.close(() => resolve()))
      : undefined;
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) if (server instanceof http.Server) server.close();
    await closed;
  }

  #secure({ key, cert, ca }: TlsOptions): net.Server {
    const server = http2.createSecureServer(
      {
        ...HTTP2_OPTIONS,
        key,
        cert,
        allowHTTP1: true,
        minVersion: "TLSv1.2",
        handshakeTimeout: this.#headersMsMax,
        // Asked for, and judged by whoever authenticates: other ways to log in stay open.
        ...(ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: false }),
      },
      this.#params.handler,
    );
    this.#limit(server as unknown as http.Server);
    this.#watch(server);
    return server;
  }

  #sniffing(): net.Server {
    const { handler } = this.#params;
    const one = http.createServer(
      { maxHeaderSize: HEADER_BYTES_MAX, connectionsCheckingInterval: CHECK_EVERY_MS },
      handler,
    );
    const two = http2.createServer(HTTP2_OPTIONS, handler);
    this.#limit(one);
    this.#watch(two);
    this.#servers.push(one, two);
    // It never listens itself; without this, nobody would look at its slow requests.
    one.emit("listening");
    const choose = (socket: net.Socket): void => {
      const timer = this.#params.clock.setTimer(this.#headersMsMax, () => socket.destroy());
      socket.once("close", () => timer.cancel());
      let seen = Buffer.alloc(0);
      const onData = (chunk: Buffer): void => {
        seen = Buffer.concat([seen, chunk]);
        const length = Math.min(seen.length, PREFACE.length);
        const maybeTwo = seen.subarray(0, length).equals(PREFACE.subarray(0, length));
        if (maybeTwo && seen.length < PREFACE.length) return;
        timer.cancel();
        socket.off("data", onData);
        socket.pause();
        socket.unshift(seen);
        (maybeTwo ? two : one).emit("connection", socket);
        if (!maybeTwo) socket.resume();
      };
      socket.on("data", onData);
      socket.on("error", () => socket.destroy());
    };
    return net.createServer({ noDelay: true }, choose);
  }

  #limit(server: http.Server): void {
    server.headersTimeout = this.#headersMsMax;
    server.requestTimeout = this.#params.bodyMsMax ?? BODY_MS_MAX;
    server.maxHeadersCount = HEADER_PAIRS_MAX;
    server.keepAliveTimeout = 65_000;
  }

  #watch(server: http2.Http2Server | http2.Http2SecureServer): void {
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      session.once("close", () => this.#sessions.delete(session));
      session.setTimeout(this.#headersMsMax, () => session.destroy());
      session.once("stream", () => session.setTimeout(IDLE_SESSION_MS, () => session.close()));
    });
    // What one client does wrong ends its connection, and nothing else.
    server.on("sessionError", (error: Error) =>
      this.#params.log.debug({ error: error.message }, "a connection failed"),
    );
  }

  #count(socket: net.Socket): void {
    const { counts } = this.#params;
    counts.connections += 1;
    this.#sockets.add(socket);
    socket.once("close", () => {
      counts.connections -= 1;
      this.#sockets.delete(socket);
    });
  }

  get #headersMsMax(): number {
    return this.#params.headersMsMax ?? HEADERS_MS_MAX;
  }
}

const HTTP2_OPTIONS = {
  maxSessionMemory: SESSION_MEMORY_MB,
  maxHeaderListPairs: HEADER_PAIRS_MAX,
  settings: {
    maxConcurrentStreams: STREAMS_MAX,
    maxHeaderListSize: HEADER_BYTES_MAX,
    initialWindowSize: STREAM_WINDOW_BYTES,
    enablePush: false,
  },
};
