import { expect, test } from "vitest";
import { bytesOf } from "./byte-size.ts";

test("sizes are read in powers of 1,024", () => {
  expect(bytesOf("512 MiB")).toBe(512 * 1024 * 1024);
  expect(bytesOf("1.5GiB")).toBe(1536 * 1024 * 1024);
});

test.each(["1 GB", "MiB", "-1 MiB", " 1 MiB", "1  MiB", "1e3 MiB", "", 512, null, undefined])(
  "%j is no size",
  (value) => {
    expect(bytesOf(value)).toBeUndefined();
  },
);
