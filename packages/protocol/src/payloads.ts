/**
 * Payloads at the public services: the bare encoded value, and the name of its encoding. Inside, the first byte of a payload that
 * is not JSON text says what it is: that byte is added and taken off here.
 */
import { create } from "@bufbuild/protobuf";
import { HoldfastError } from "holdfast/adapter";
import { type Payload, PayloadSchema } from "../gen/holdfast/v1/common_pb.js";
import { isTooDeep, JSON_DEPTH_MAX } from "./json-depth.ts";
import { RawPayload } from "./raw-payload.ts";

/** The encodings that are not JSON, by their first byte. */
const MARKS: Readonly<Record<string, number>> = { msgpack: 1, compressed: 2, encrypted: 3 };
const NAMES = new Map(Object.entries(MARKS).map(([name, mark]) => [mark, name]));
/** JSON text never begins with a byte below this one. */
const TEXT_MIN = 9;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** What to answer for a value; undefined if there is none. */
export function toPayload(value: unknown): Payload | undefined {
  if (value === undefined || value === null) return undefined;
  const { bytes } = value as RawPayload;
  const [mark] = bytes;
  if (mark === undefined) return undefined;
  if (mark >= TEXT_MIN || mark === 0) return create(PayloadSchema, { data: bytes, metadata: { encoding: "json" } });
  return create(PayloadSchema, {
    data: bytes.subarray(1),
    metadata: { encoding: NAMES.get(mark) ?? `binary-${mark}` },
  });
}

/** What was sent, as a client with the raw codec takes it. `what` names it if it is refused. */
export function fromPayload(payload: Payload | undefined, what: string): RawPayload | undefined {
  if (payload === undefined) return undefined;
  const { data, metadata } = payload;
  const encoding = metadata["encoding"] ?? "json";
  if (encoding === "json") {
    if (data.length === 0) return undefined;
    requireJson(data, what);
    return new RawPayload(data);
  }
  const mark = Object.hasOwn(MARKS, encoding) ? MARKS[encoding] : undefined;
  if (mark === undefined) throw refused(what, `has the encoding "${encoding.slice(0, 40)}", which is not known`);
  const bytes = new Uint8Array(data.length + 1);
  bytes[0] = mark;
  bytes.set(data, 1);
  return new RawPayload(bytes);
}

/** Whether nobody without its key can read the payload. */
export function isEncrypted(payload: Payload | undefined): boolean {
  return payload?.metadata["encoding"] === "encrypted";
}

/** A value that cannot be read parks the run that gets it, far from whoever has sent it. */
function requireJson(data: Uint8Array, what: string): void {
  try {
    JSON.parse(utf8.decode(data));
  } catch {
    throw refused(what, 'is not JSON text. Set metadata "encoding" if it is something else');
  }
  if (isTooDeep(data)) throw refused(what, `is nested more than ${JSON_DEPTH_MAX} levels deep`);
}

function refused(what: string, fault: string): HoldfastError {
  return new HoldfastError("invalid_argument", `The ${what} ${fault}.`, { data: { argument: what } });
}
