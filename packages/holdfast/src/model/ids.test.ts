import { describe, expect, test } from "vitest";
import { formatUuid, uuidV7 } from "./ids.ts";

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
