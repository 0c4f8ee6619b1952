/** The answer to a call that never reaches its service: in the protocol of the request, as the service would have given it. */

import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamToJson,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import type { NodeResponse } from "./answers.ts";
import type { NodeRequest } from "./request-facts.ts";

export function refuseCall(request: NodeRequest, given: NodeResponse, error: ConnectError): void {
  const response = given as ServerResponse;
  // What is still to come of it is thrown away as it comes.
  request.resume();
  if (response.headersSent || response.writableEnded || response.destroyed) return;
  const type = request.headers["content-type"] ?? "";
  const retryAfter = error.metadata.get("retry-after");
  const headers = { "cache-control": "no-store", ...(retryAfter === null ? {} : { "retry-after": retryAfter }) };
  if (type.startsWith("application/grpc")) {
    const status = Object.fromEntries(setTrailerStatus(new Headers(), error));
    const only = { ...headers, ...status, "grpc-message": grpcMessage(error.rawMessage), "content-type": type };
    if ("stream" in given) endWithHeaders(given.stream, only);
    else response.writeHead(200, only).end();
  } else if (type.startsWith("application/connect+")) {
    const end = Buffer.from(JSON.stringify(endStreamToJson(new Headers(), error, undefined)));
    const head = Buffer.alloc(5);
    head[0] = endStreamFlag;
    head.writeUInt32BE(end.length, 1);
    response.writeHead(200, { ...headers, "content-type": type }).end(Buffer.concat([head, end]));
  } else {
    const status = codeToHttpStatus(error.code);
    response
      .writeHead(status, { ...headers, "content-type": "application/json" })
      .end(errorToJsonBytes(error, undefined));
  }
}

/**
 * Services percent-encode whatever a URL would have encoded, also in the texts of refusals; some clients, grpc-js above all, leave of that what
 * gRPC does not have encoded, such as `%3B`.
 */
export function withPlainMessages(response: NodeResponse): void {
  const answer = response as ServerResponse;
  const addTrailers = answer.addTrailers.bind(answer);
  answer.addTrailers = (trailers) => {
    const { "grpc-message": said, ...rest } = trailers as Readonly<Record<string, string>>;
    addTrailers(said === undefined ? rest : { ...rest, "grpc-message": grpcMessage(decodeURIComponent(said)) });
  };
}

/** As gRPC has it: percent signs and what is no printable ASCII are encoded, and nothing else. */
export function grpcMessage(text: string): string {
  const isPlain = (byte: number): boolean => byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
  const encoded = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return Array.from(Buffer.from(text), (byte) => (isPlain(byte) ? String.fromCharCode(byte) : encoded(byte))).join("");
}

/**
 * An answer without a body is one block of headers that ends the stream. Were it ended by an empty frame of data after them, clients
 * would take the status in it for a header, and would miss the one that belongs into the trailers.
 */
export function endWithHeaders(stream: ServerHttp2Stream, headers: Readonly<Record<string, string>>): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond({ ":status": 200, ...headers }, { endStream: true });
  // What is still to come is not read: whoever holds its half of the stream open need not close it.
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}
