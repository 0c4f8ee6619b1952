/** What the services must know of the connection that a request came through. */
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { TLSSocket } from "node:tls";
import { type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import { subjectNames } from "../access/certificates.ts";

export type NodeRequest = IncomingMessage | Http2ServerRequest;

export interface RequestFacts {
  readonly address: string;
  /** The names in a client certificate that was verified. */
  readonly names?: readonly string[];
}

const FACTS = createContextKey<RequestFacts>({ address: "" }, { description: "the connection of the request" });

export function requestFacts(values: ContextValues): RequestFacts {
  return values.get(FACTS);
}

export function factsOf(request: NodeRequest): RequestFacts {
  const socket = ("stream" in request ? request.stream.session?.socket : request.socket) as TLSSocket | undefined;
  const address = socket?.remoteAddress ?? "";
  if (socket?.authorized !== true) return { address };
  return { address, names: subjectNames(socket.getPeerCertificate().subjectaltname) };
}

export function contextValuesOf(request: NodeRequest): ContextValues {
  return createContextValues().set(FACTS, factsOf(request));
}
