import { describe, expect, test } from "vitest";
import { BUCKETS, bucketOf, formatUuid, newRunId, uuidV7 } from "./ids.ts";

const BYTES = Uint8Array.from({ length: 16 }, (_, i) => 255 - i);

describe("a run id", () => {
  test("is a UUID of version 7: the time in front, version and variant stamped into what is random", () => {
    expect(uuidV7(0x0123456789ab, BYTES)).toBe("01234567-89ab-79f8-b7f6-f5f4f3f2f1f0");
    expect(uuidV7(0, new Uint8Array(16))).toBe("00000000-0000-7000-8000-000000000000");
  });

  test("leaves the random bytes as they were", () => {
    const bytes = BYTES.slice();
    uuidV7(1, bytes);
    expect(bytes).toEqual(BYTES);
  });

  test("sorts by time, also where the low digits turn over", () => {
    const times = [0, 1, 0xffff, 0x10000, 0xffffffff, 0x100000000, 2 ** 47];
    const ids = times.map((time) => uuidV7(time, BYTES));
    expect([...ids].sort()).toEqual(ids);
  });
});

test("sixteen bytes are printed in their order", () => {
  expect(formatUuid(BYTES.slice(), 4)).toBe("fffefdfc-fbfa-49f8-b7f6-f5f4f3f2f1f0");
});

describe("the bucket of an id", () => {
  // From another implementation of the same description.
  const vectors = [
    ["default", "order-1", "f55"],
    ["default", "order-2", "9c0"],
    ["other", "order-1", "cec"],
    ["default", "", "9a4"],
    ["Größe", "日本 😀", "068"],
    ["default", "ÿ\u07ff\u0800\uffff\u{10000}", "4ec"],
  ] as const;

  test.for(vectors)("of %s and %s is %s, for ever", ([namespace, id, bucket]) => {
    expect(bucketOf(namespace, id).toString(16).padStart(3, "0")).toBe(bucket);
  });

  test("that is a UUID is in its last three digits", () => {
    expect(bucketOf("default", "01234567-89ab-79f8-b7f6-f5f4f3f2f1f0")).toBe(0x1f0);
    expect(bucketOf("other", "01234567-89ab-79f8-b7f6-f5f4f3f2f00f")).toBe(0x00f);
  });

  test("spreads ids that differ in a number only", () => {
    const counts = new Array<number>(BUCKETS).fill(0);
    for (let i = 0; i < BUCKETS * 100; i++) {
      const bucket = bucketOf("default", `order-${i}`);
      counts[bucket] = (counts[bucket] as number) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(40);
    expect(Math.max(...counts)).toBeLessThan(200);
  });

  test("ends the run ids of all of its runs, whenever they are made", () => {
    expect(newRunId("default", "order-1", 0x0123456789ab, BYTES)).toBe("01234567-89ab-79f8-b7f6-f5f4f3f2ff55");
    expect(newRunId("default", "order-1", 0, new Uint8Array(16))).toBe("00000000-0000-7000-8000-000000000f55");
    expect(newRunId("Größe", "日本 😀", 0, BYTES)).toBe("00000000-0000-79f8-b7f6-f5f4f3f2f068");
  });

  test("is random where the run id is the id, and can be read from it", () => {
    const runId = newRunId("default", undefined, 0x0123456789ab, BYTES);
    expect(runId).toBe(uuidV7(0x0123456789ab, BYTES));
    expect(newRunId("default", runId, 1, new Uint8Array(16)).slice(-3)).toBe(runId.slice(-3));
  });
});
