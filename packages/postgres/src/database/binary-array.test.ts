import { expect, test } from "vitest";
import { isUuid, secretArray, textArray, uuidArray } from "./binary-array.ts";

const UUID = "01890000-0aBc-7def-8000-00000000000F";
const HEX = UUID.replaceAll("-", "").toLowerCase();

test("UUIDs in either case are written as their bytes", () => {
  expect(uuidArray([UUID, HEX, null]).toString("hex")).toBe(
    `00000001${"00000001"}00000b86${"00000003"}00000001${"00000010"}${HEX}ffffffffffffffff`,
  );
});

test("whatever is no UUID becomes null, whichever character is wrong", () => {
  const wrong = [...UUID].flatMap((_, i) => ["g", "-", "0", "é", "\u{1F600}", " "].map((c) => replaced(UUID, i, c)));
  const odd = ["", "-", `${UUID}0`, UUID.slice(1), HEX, `{${UUID.slice(2)}}`];
  for (const text of [...wrong, ...odd]) {
    const isOne = uuidArray([text]).length === 40;
    expect(isOne, text).toBe(isUuid(text));
  }
});

test("secrets have lower-case digits and no dashes", () => {
  expect(secretArray([HEX]).subarray(24).toString("hex")).toBe(HEX);
  for (const text of [HEX.toUpperCase(), UUID, HEX.slice(1), replaced(HEX, 4, "g")])
    expect(secretArray([text]).readInt32BE(20), text).toBe(-1);
});

test("texts are written as UTF-8, short and long", () => {
  for (const text of [
    "",
    "s1",
    "x".repeat(24),
    "x".repeat(25),
    "grün",
    `${"x".repeat(23)}ü`,
    "\u{1F600}",
    "\u0000",
    "\u007f\u0080",
  ])
    expect(textArray([text]).subarray(24).toString(), text).toBe(text);
  expect(textArray(["a", null, "bc"]).subarray(20).toString("hex")).toBe("0000000161ffffffff000000026263");
});

function replaced(text: string, at: number, by: string): string {
  return text.slice(0, at) + by + text.slice(at + 1);
}
