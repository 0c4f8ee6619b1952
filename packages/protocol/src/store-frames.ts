/**
 * The messages of a session as bytes: gRPC's envelope, which is one byte for flags and four for the length, and a protobuf message.
 */
import { Buffer } from "node:buffer";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { HoldfastError } from "holdfast/adapter";
import {
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
} from "../gen/holdfast/v1/store_pb.js";

export {
  type CallRequest,
  CallRequestSchema,
  type CallResponse,
  CallResponseSchema,
  type PollRequest,
  PollRequestSchema,
  type PollResponse,
  PollResponseSchema,
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
  type StoreError,
  type StoreHello,
  StoreHelloSchema,
  type StoreInterest,
  StoreInterestSchema,
  type StoreLimits,
  StoreLimitsSchema,
  StoreService,
  type StoreWelcome,
  StoreWelcomeSchema,
  type StoreWorker,
  StoreWorkerSchema,
} from "../gen/holdfast/v1/store_pb.js";

const HEAD_BYTES = 5;

export const SESSION_PATH = "/holdfast.v1.StoreService/Session";
export const CALL_PATH = "/holdfast.v1.StoreService/Call";
export const POLL_PATH = "/holdfast.v1.StoreService/Poll";

export function requestBytes(request: MessageInitShape<typeof SessionRequestSchema>): Buffer {
  return enveloped(toBinary(SessionRequestSchema, create(SessionRequestSchema, request)));
}

export function responseBytes(response: MessageInitShape<typeof SessionResponseSchema>): Buffer {
  return enveloped(toBinary(SessionResponseSchema, create(SessionResponseSchema, response)));
}

export function readRequest(message: Uint8Array): SessionRequest {
  return readable(() => fromBinary(SessionRequestSchema, message), message);
}

export function readResponse(message: Uint8Array): SessionResponse {
  return readable(() => fromBinary(SessionResponseSchema, message), message);
}

function readable<T>(read: () => T, message: Uint8Array): T {
  try {
    return read();
  } catch (cause) {
    throw new HoldfastError("store_refused", `A message of ${message.length} bytes cannot be read.`, { cause });
  }
}

function enveloped(message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  bytes[0] = 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, HEAD_BYTES);
  return bytes;
}

/** Puts together what arrives in chunks. Keeps no more than one message of the largest size. */
export class MessageReader {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The messages that this chunk completes. Throws `store_refused` for one that is too large or compressed. */
  read(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const messages: Buffer[] = [];
    while (this.#length >= HEAD_BYTES) {
      const head = this.#joined(HEAD_BYTES);
      const size = head.readUInt32BE(1);
      if (head[0] !== 0) throw new HoldfastError("store_refused", "The messages of a session are not compressed.");
      if (size > this.#bytesMax) throw tooLarge(size, this.#bytesMax);
      if (this.#length < HEAD_BYTES + size) break;
      const all = this.#joined(HEAD_BYTES + size);
      messages.push(all.subarray(HEAD_BYTES, HEAD_BYTES + size));
      const rest = all.subarray(HEAD_BYTES + size);
      this.#length -= HEAD_BYTES + size;
      this.#chunks[0] = rest;
      if (rest.length === 0) this.#chunks.shift();
    }
    return messages;
  }

  /** The first chunk, made to have at least so many bytes. */
  #joined(bytes: number): Buffer {
    const [first] = this.#chunks;
    if (first && first.length >= bytes) return first;
    let [count, length] = [0, 0];
    while (length < bytes) length += (this.#chunks[count++] as Buffer).length;
    const joined = Buffer.concat(this.#chunks.slice(0, count));
    this.#chunks = [joined, ...this.#chunks.slice(count)];
    return joined;
  }
}

function tooLarge(size: number, max: number): HoldfastError {
  return new HoldfastError("store_refused", `A message of ${size} bytes was sent; the limit is ${max}.`, {
    data: { size, max },
  });
}
