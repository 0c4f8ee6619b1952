/** One call of a service, after it is known who calls and that they may. */
import type { DescMessage, DescMethod, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Client } from "holdfast/adapter";
import type { Principal } from "../access/principal.ts";

export interface Call {
  readonly principal: Principal;
  readonly namespace: string;
  /** A client whose payloads are bytes. */
  readonly client: Client;
  /** A client whose payloads are values: for what is the server's own. */
  readonly plain: Client;
  readonly address: string;
  readonly traceparent: string | null;
  /** `x-holdfast-worker` */
  readonly workerHeader: string | null;
  /** The caller has gone, or its deadline has passed. */
  readonly signal: AbortSignal;
  /** The server drains: polls are answered at once. */
  readonly draining: AbortSignal;
  /** For streams: throws once whoever opened it may not take work any longer. */
  readonly readmit?: () => Promise<void>;
  /** The same for what it has taken before: that may be finished also while the namespace is disabled. */
  readonly stillAllowed?: () => Promise<void>;
}

export type Answer<O extends DescMessage> = Promise<MessageInitShape<O>>;
export type Stream<O extends DescMessage> = AsyncIterable<MessageInitShape<O>>;

export type Handler<M extends DescMethod> = M["methodKind"] extends "unary"
  ? (message: MessageShape<M["input"]>, call: Call) => Answer<M["output"]>
  : M["methodKind"] extends "bidi_streaming"
    ? (messages: AsyncIterable<MessageShape<M["input"]>>, call: Call) => Stream<M["output"]>
    : (message: MessageShape<M["input"]>, call: Call) => Stream<M["output"]>;

/** The handlers of a service: one for each of its calls. */
export type Handlers<S extends DescService> = { readonly [K in keyof S["method"]]: Handler<S["method"][K]> };
