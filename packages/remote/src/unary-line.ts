/**
 * The same calls as single requests, where nothing on the way knows HTTP/2. Hints come as answers to polls; what happens between two
 * polls is not hinted, so after each one everybody who waits looks.
 */
import { Buffer } from "node:buffer";
import http from "node:http";
import https from "node:https";
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import {
  CALL_PATH,
  CallRequestSchema,
  CallResponseSchema,
  fromStoreError,
  POLL_PATH,
  PollRequestSchema,
  PollResponseSchema,
  STORE_CALL_TABLE,
  StoreHelloSchema,
  type StoreWelcome,
  unpackBody,
} from "@holdfast/protocol/store";
import { type Clock, type Hint, HoldfastError, type StoreMethod, type TlsOptions } from "holdfast/adapter";
import type { HintEnds, Line } from "./connection.ts";
import { unavailable } from "./session.ts";
import { CALL_BYTES_MAX, OPEN_LIMIT_MS } from "./session-limits.ts";
import { VERSION } from "./version.ts";

/** A poll is answered after 20 s at the latest. */
const POLL_LIMIT_MS = 30_000;
const POLL_PAUSE_MS = 1_000;
/** Not more often than this. */
const LOOK_MS = 1_000;

export interface UnaryParams extends HintEnds {
  readonly clock: Clock;
  readonly url: URL;
  readonly token: () => Promise<string | undefined>;
  readonly tls: TlsOptions | undefined;
}

export class UnaryLine implements Line {
  readonly #params: UnaryParams;
  readonly #agent: http.Agent;
  #closed = false;

  constructor(params: UnaryParams) {
    this.#params = params;
    const options = { keepAlive: true, maxSockets: 64, ...(params.tls as object) };
    this.#agent = params.url.protocol === "https:" ? new https.Agent(options) : new http.Agent(options);
  }

  /** Whether there is a server at all. */
  async open(): Promise<StoreWelcome> {
    const { welcome } = await this.#poll(false, OPEN_LIMIT_MS);
    if (!welcome) throw unavailable("what answers is not a server of Holdfast");
    void this.#pollForever();
    return welcome;
  }

  async call(method: StoreMethod, body: Uint8Array, limitMs: number): Promise<Uint8Array> {
    const request = create(CallRequestSchema, { method, body, deadlineMs: limitMs });
    try {
      const path = CALL_PATH;
      const answer = await this.#post({
        path,
        limitMs,
        body: toBinary(CallRequestSchema, request),
        reply: CallResponseSchema,
      });
      if (answer.error) throw fromStoreError(answer.error);
      return answer.body;
    } catch (error) {
      if (error instanceof RequestLost) throw error.asStoreError(method);
      throw error;
    }
  }

  /** Polls say it each time. */
  interest(): void {}

  leave(): void {
    this.#closed = true;
    this.#agent.destroy();
  }

  async #pollForever(): Promise<void> {
    const { clock, onHints, onHintsLost } = this.#params;
    let lookedAt = clock.monotonic();
    while (!this.#closed) {
      try {
        const { hints } = await this.#poll(true, POLL_LIMIT_MS);
        if (this.#closed) return;
        if (hints.length > 0) onHints(unpackBody(hints) as readonly Hint[]);
        if (clock.monotonic() - lookedAt < LOOK_MS) continue;
        lookedAt = clock.monotonic();
        onHintsLost();
      } catch {
        // The calls themselves notice that the server is gone.
        await new Promise<void>((resolve) => clock.setTimer(POLL_PAUSE_MS, resolve).unref?.());
      }
    }
  }

  async #poll(wait: boolean, limitMs: number): Promise<MessageShape<typeof PollResponseSchema>> {
    const hello = create(StoreHelloSchema, { version: VERSION });
    if (wait) hello.interest = this.#params.interest();
    const body = toBinary(PollRequestSchema, create(PollRequestSchema, { hello }));
    const answer = await this.#post({ path: POLL_PATH, body, limitMs, reply: PollResponseSchema, idle: wait });
    if (answer.error) throw fromStoreError(answer.error);
    return answer;
  }

  async #post<T extends DescMessage>(post: Post<T>): Promise<MessageShape<T>> {
    const token = await this.#params.token();
    return new Promise((resolve, reject) => {
      const request = (this.#params.url.protocol === "https:" ? https : http).request(
        new URL(post.path, this.#params.url.origin),
        {
          method: "POST",
          agent: this.#agent,
          timeout: post.limitMs,
          headers: {
            "content-type": "application/proto",
            "content-length": post.body.length,
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
        },
      );
      let connected = false;
      const failed = (error: Error): void => reject(new RequestLost(error.message, connected, error));
      request.on("socket", (socket) => {
        if (post.idle) socket.unref();
        else socket.ref();
        if (!socket.connecting) connected = true;
        else socket.once("connect", () => (connected = true));
      });
      request.on("timeout", () => request.destroy(new Error("the server has not answered in time")));
      request.on("error", failed);
      request.on("response", (response) => {
        readAll(response)
          .then((bytes) => resolve(read(post.reply, response.statusCode, bytes)), failed)
          .catch(reject);
      });
      request.end(post.body);
    });
  }
}

interface Post<T extends DescMessage> {
  readonly path: string;
  readonly body: Uint8Array;
  readonly limitMs: number;
  readonly reply: T;
  /** It does not keep the process alive. */
  readonly idle?: boolean;
}

/** A request without an answer. */
class RequestLost extends HoldfastError {
  readonly #sent: boolean;

  constructor(why: string, sent: boolean, cause: unknown) {
    super("store_unavailable", `The server cannot be reached: ${why}.`, {
      cause,
      ...(sent ? {} : { data: { unreachable: true } }),
    });
    this.#sent = sent;
  }

  asStoreError(method: StoreMethod): HoldfastError {
    if (!this.#sent || STORE_CALL_TABLE.get(method)?.reads) return this;
    const message = `${this.message} The call was sent and not answered: it may or may not have taken effect.`;
    return new HoldfastError("store_outcome_unknown", message, { data: { call: method }, cause: this });
  }
}

async function readAll(response: http.IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > 2 * CALL_BYTES_MAX) throw new Error("the answer is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function read<T extends DescMessage>(schema: T, status: number | undefined, bytes: Uint8Array): MessageShape<T> {
  if (status === 401) throw new HoldfastError("unauthenticated", "The server does not accept the token.");
  if (status === 403) throw new HoldfastError("permission_denied", "The server refuses this client.");
  if (status !== 200) throw new RequestLost(`the answer has status ${status}`, true, undefined);
  return fromBinary(schema, bytes);
}
