/** The answer to a call that never reaches its service: in the protocol of the request, as the service would have given it. */

import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
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
    response.writeHead(200, { ...headers, ...status, "content-type": type }).end();
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
