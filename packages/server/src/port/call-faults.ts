/**
 * Requests that are none of a call: with another method, another kind of body, or over an HTTP that cannot carry it. The services would
 * answer them with a bare status, which tells nobody with curl what to do.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { NodeRequest } from "./request-facts.ts";

export type CallKind = DescMethod["methodKind"];

export interface CallFault {
  readonly status: 405 | 415 | 505;
  readonly code: string;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

const GRPC = /^application\/grpc(-web)?(\+(json(; ?charset=utf-?8)?|proto))?$/i;
const UNARY = /^application\/(json(; ?charset=utf-?8)?|proto)$/i;
const STREAM = /^application\/connect\+(json(; ?charset=utf-?8)?|proto)$/i;

/** Undefined: the services can read it. */
export function callFault({ method, headers, httpVersionMajor }: NodeRequest, kind: CallKind): CallFault | undefined {
  if (method !== "POST")
    return fault(405, `Calls are made with POST, not with ${(method ?? "").slice(0, 20)}.`, { allow: "POST" });
  const isUnary = kind === "unary";
  if (!isUnary && kind !== "server_streaming" && httpVersionMajor < 2)
    return fault(505, "This call is a stream in both directions, which needs HTTP/2: use a client of gRPC.");
  const type = headers["content-type"] ?? "";
  if (GRPC.test(type) || (isUnary ? UNARY : STREAM).test(type)) return undefined;
  const [json, proto] = isUnary
    ? ["application/json", "application/proto"]
    : ["application/connect+json", "application/connect+proto"];
  const given = type === "" ? "no content-type" : `the content-type "${type.slice(0, 100)}"`;
  const what = isUnary ? "This call" : "This call answers with a stream, and";
  const message = `The request has ${given}. ${what} takes ${json}, ${proto}, application/grpc and application/grpc-web.`;
  return fault(415, message, { "accept-post": `${json}, ${proto}, application/grpc, application/grpc-web` });
}

function fault(status: CallFault["status"], message: string, headers: CallFault["headers"] = {}): CallFault {
  return { status, code: status === 415 ? "invalid_argument" : "unimplemented", message, headers };
}
