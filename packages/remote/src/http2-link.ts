/** A session over HTTP/2: one bidirectional stream, as gRPC has it. */
import type { Buffer } from "node:buffer";
import http2 from "node:http2";
import { type Link, type LinkEvents, SESSION_PATH } from "@holdfast/protocol/store";
import { HoldfastError, type TlsOptions } from "holdfast/adapter";

/** Node's 64 KiB would carry 1.3 MB/s at 50 ms. */
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 8 * 1024 * 1024;

/** Nothing on the way speaks HTTP/2, or what answers is not the server. */
export class NoSession extends Error {}

export interface Http2Address {
  readonly url: URL;
  readonly token: string | undefined;
  readonly tls: TlsOptions | undefined;
}

/** `ref` and `unref`: whether it keeps the process alive. */
export interface Http2Link extends Link {
  ref(): void;
  unref(): void;
}

export function openHttp2Link({ url, token, tls }: Http2Address, events: LinkEvents): Http2Link {
  const session = http2.connect(url.origin, {
    settings: { initialWindowSize: STREAM_WINDOW_BYTES, enablePush: false },
    ...(tls as object),
  });
  let connected = false;
  let over = false;
  const end = (error?: Error): void => {
    if (over) return;
    over = true;
    session.destroy();
    events.closed(error);
  };
  session.on("connect", () => {
    connected = true;
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  });
  const stream = session.request(
    {
      ":method": "POST",
      ":path": SESSION_PATH,
      "content-type": "application/grpc+proto",
      te: "trailers",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    { endStream: false },
  );
  const failed = (error: NodeJS.ErrnoException): void =>
    end(connected || isProtocolError(error) ? new NoSession(error.message, { cause: error }) : error);
  session.on("error", failed);
  session.on("goaway", (code) => {
    if (code !== 0) failed(new Error(`the server ended the connection (HTTP/2 error ${code})`));
  });
  session.on("close", () => end(new Error("the connection was closed")));
  stream.on("response", (headers) => {
    const status = headers[":status"];
    if (status !== 200) return end(new NoSession(`the answer has status ${status}`));
    const refusal = grpcError(headers);
    if (refusal) end(refusal);
  });
  stream.on("trailers", (trailers) => end(grpcError(trailers)));
  stream.on("data", (chunk: Buffer) => events.data(chunk));
  stream.on("drain", () => events.drained());
  stream.on("error", failed);
  stream.on("end", () => end());
  stream.on("close", () => end());
  return {
    write: (bytes) => !over && stream.write(bytes),
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    end: () => void stream.end(),
    destroy: () => {
      over = true;
      stream.destroy();
      session.destroy();
    },
    ref: () => session.ref(),
    unref: () => session.unref(),
  };
}

/** What comes back is not HTTP/2: an older proxy, or a server of another kind. */
function isProtocolError({ code }: NodeJS.ErrnoException): boolean {
  return code === "ERR_HTTP2_ERROR" || code === "ERR_HTTP2_STREAM_ERROR" || code === "EPROTO";
}

const UNAUTHENTICATED = "16";
const PERMISSION_DENIED = "7";

function grpcError(headers: http2.IncomingHttpHeaders): Error | undefined {
  const status = headers["grpc-status"];
  if (status === undefined || status === "0") return undefined;
  const text = headers["grpc-message"];
  const message = typeof text === "string" ? decoded(text) : `gRPC status ${status}`;
  if (status === UNAUTHENTICATED) return new HoldfastError("unauthenticated", message);
  if (status === PERMISSION_DENIED) return new HoldfastError("permission_denied", message);
  return new Error(message);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
