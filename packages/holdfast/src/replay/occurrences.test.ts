import { expect, test } from "vitest";
import { Occurrences } from "./occurrences.ts";

test("few names and many are counted alike, whichever comes again", () => {
  const occurrences = new Occurrences();
  const expected = new Map<string, number>();
  // 40 names, each of which comes again now and then: before there are many, while there come to be, and afterward.
  for (let i = 0; i < 400; i++) {
    const name = `op-${(i * i + (i >> 3)) % 40}`;
    expect(occurrences.get(name), name).toBe(expected.get(name) ?? 0);
    const count = (expected.get(name) ?? 0) + (i % 7 === 0 ? 2 : 1);
    occurrences.set(name, count);
    expected.set(name, count);
  }
  expect(expected.size).toBeGreaterThan(16);
  for (const [name, count] of expected) expect(occurrences.get(name), name).toBe(count);
  expect(occurrences.get("other")).toBe(0);
});
