import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EVENT_TYPES, type HistoryEvent } from "../../model/event.ts";
import type { Segment } from "../../model/segment.ts";
import { packSegment, unpackSegment } from "./segment-format.ts";

const anEvent = fc.record(
  {
    type: fc.constantFrom(...EVENT_TYPES),
    op: fc.option(fc.string({ unit: "binary" })),
    later: fc.nat(),
    payload: fc.uint8Array({ maxLength: 40 }),
    meta: fc.record({ attempt: fc.nat(), reason: fc.string({ unit: "binary" }) }, { requiredKeys: [] }),
  },
  { requiredKeys: ["type", "op", "later"] },
);

const events = fc
  .tuple(fc.nat({ max: 100_000 }), fc.array(anEvent, { minLength: 1, maxLength: 30 }))
  .map(([from, some]) => {
    let at = 1_700_000_000_000;
    return some.map(({ later, ...event }, i): HistoryEvent => {
      at += later;
      return { seq: from + i + 1, at, ...event };
    });
  });

function unpacked(segment: Segment): HistoryEvent[] | string | undefined {
  const found: HistoryEvent[] = [];
  return unpackSegment(segment, found) ?? (found.length > 0 ? found : undefined);
}

describe("a segment", () => {
  test("contains the events that were packed, of every type, with and without payload and metadata", () => {
    fc.assert(
      fc.property(events, (some) => {
        const segment = packSegment(some);
        expect([segment.firstSeq, segment.lastSeq]).toEqual([some[0]?.seq, some.at(-1)?.seq]);
        expect(unpacked(segment)).toEqual(some);
      }),
    );
  });

  test("is appended behind the events before it", () => {
    const some = fc.sample(events, 1)[0] as HistoryEvent[];
    const before: HistoryEvent = { seq: 1, type: "side_effect", op: "before", at: 1 };
    const found = [before];
    unpackSegment(packSegment(some), found);
    expect(found).toEqual([before, ...some]);
  });

  test("with any one bit flipped has a wrong sum, and yields nothing", () => {
    fc.assert(
      fc.property(events, fc.nat(), fc.nat({ max: 7 }), (some, at, bit) => {
        const segment = packSegment(some);
        const bytes = new Uint8Array(segment.bytes);
        const index = at % bytes.length;
        bytes[index] = (bytes[index] as number) ^ (1 << bit);
        expect(unpacked({ ...segment, bytes })).toBe("sum");
      }),
    );
  });

  test("that says that it has other events than it has cannot be read", () => {
    const some = fc.sample(events, 1)[0] as HistoryEvent[];
    const segment = packSegment(some);
    expect(unpacked({ ...segment, lastSeq: segment.lastSeq + 1 })).toBe("contents");
  });

  test("of a newer version of Holdfast is left alone", () => {
    const bytes = Uint8Array.of(200, 1, 2, 3);
    expect(unpacked({ firstSeq: 1, lastSeq: 9, bytes, sum: crc32(bytes) })).toBeUndefined();
  });
});
