/**
 * The bytes of a segment. The first one is the version of the format, so that later versions of Holdfast can read what this one
 * has packed, and leave alone what a newer one has. Version 1 is, deflated:
 *
 *   4 bytes   the length of the head, little endian
 *   the head  JSON: one array for each field of the events. Types are positions in EVENT_TABLE; times are differences to the
 *             event before; `size` is -1 where an event has no payload; `meta` is 0 where it has no metadata
 *   the rest  the payloads, one after the other, as they are stored: encrypted ones stay encrypted
 *
 * One array per field, because a few long arrays are parsed several times as fast as many small objects.
 */
import { Buffer } from "node:buffer";
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { EVENT_TYPES, type EventMeta, type EventType, type HistoryEvent } from "../../model/event.ts";
import type { Segment } from "../../model/segment.ts";

const VERSION = 1;
const LENGTH_BYTES = 4;
/** The fastest: deflating harder makes it a tenth smaller, in twice the time. */
const LEVEL = 1;

const TYPE_CODES: ReadonlyMap<EventType, number> = new Map(EVENT_TYPES.map((type, code) => [type, code]));

interface Head {
  readonly type: readonly number[];
  readonly at: readonly number[];
  readonly op: readonly (string | null)[];
  readonly size: readonly number[];
  readonly meta: readonly (EventMeta | 0)[];
}

/** Packs events that follow each other; there is at least one. */
export function packSegment(events: readonly HistoryEvent[]): Segment {
  const head: Head = {
    type: events.map(({ type }) => TYPE_CODES.get(type) as number),
    at: events.map(({ at }, i) => at - (events[i - 1]?.at ?? 0)),
    op: events.map(({ op }) => op),
    size: events.map(({ payload }) => payload?.length ?? -1),
    meta: events.map(({ meta }) => meta ?? 0),
  };
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(text.length);
  const payloads = events.flatMap(({ payload }) => (payload === undefined ? [] : [payload]));
  const packed = deflateRawSync(Buffer.concat([length, text, ...payloads]), { level: LEVEL });
  const bytes = new Uint8Array(packed.length + 1);
  bytes[0] = VERSION;
  bytes.set(packed, 1);
  const firstSeq = (events[0] as HistoryEvent).seq;
  return { firstSeq, lastSeq: firstSeq + events.length - 1, bytes, sum: crc32(bytes) };
}

/** What is wrong with a segment, if it cannot be read. */
export type SegmentFault = "sum" | "contents";

/**
 * Appends the events of a segment to `events`. Returns what is wrong if that is impossible, and then appends nothing; undefined
 * also if a newer version of Holdfast has packed it, which is no fault: then nothing is appended either.
 */
export function unpackSegment(
  { firstSeq, lastSeq, bytes, sum }: Segment,
  events: HistoryEvent[],
): SegmentFault | undefined {
  if (crc32(bytes) !== sum) return "sum";
  if (bytes[0] !== VERSION) return undefined;
  try {
    const body = inflateRawSync(bytes.subarray(1));
    const rest = LENGTH_BYTES + body.readUInt32LE(0);
    const head = JSON.parse(body.toString("utf8", LENGTH_BYTES, rest)) as Head;
    if (!isWhole(head, lastSeq - firstSeq + 1, body.length - rest)) return "contents";
    append(head, firstSeq, new Uint8Array(body.buffer, body.byteOffset + rest), events);
    return undefined;
  } catch {
    return "contents";
  }
}

function isWhole({ type, at, op, size, meta }: Head, count: number, payloadBytes: number): boolean {
  let bytes = 0;
  for (const one of size) if (one > 0) bytes += one;
  const arrays = [type, at, op, size, meta];
  return arrays.every(({ length }) => length === count) && bytes === payloadBytes && type.every(isKnown);
}

function isKnown(code: number): boolean {
  return EVENT_TYPES[code] !== undefined;
}

/** Payloads are views on the bytes of their segment: an array of their own each would cost as much as all the rest. */
function append(
  { type, at, op, size, meta }: Head,
  firstSeq: number,
  payloads: Uint8Array,
  events: HistoryEvent[],
): void {
  const { buffer, byteOffset } = payloads;
  let time = 0;
  let offset = byteOffset;
  for (let i = 0; i < type.length; i++) {
    time += at[i] as number;
    const event: { -readonly [K in keyof HistoryEvent]: HistoryEvent[K] } = {
      seq: firstSeq + i,
      type: EVENT_TYPES[type[i] as number] as EventType,
      op: op[i] as string | null,
      at: time,
    };
    const bytes = size[i] as number;
    if (bytes >= 0) {
      event.payload = new Uint8Array(buffer, offset, bytes);
      offset += bytes;
    }
    const about = meta[i] as EventMeta | 0;
    if (about !== 0) event.meta = about;
    events.push(event);
  }
}
