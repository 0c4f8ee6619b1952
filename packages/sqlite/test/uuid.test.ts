import { expect, test } from "vitest";
import { newUuidBytes, sharedUuidBytes, uuidBytes, uuidText } from "../src/database/uuid.ts";

const ID = "01890000-89ab-7cde-8f00-0123456789ab";

test("an id of either case becomes sixteen bytes and comes back in lower case", () => {
  expect(uuidText(uuidBytes(ID))).toBe(ID);
  expect(uuidText(uuidBytes(ID.toUpperCase()))).toBe(ID);
  expect(uuidText(sharedUuidBytes(ID))).toBe(ID);
});

test("a text that is no UUID has no bytes, and is never stored", () => {
  const wrong = [
    "",
    ID.slice(1),
    `${ID}0`,
    ID.replaceAll("-", ""),
    ID.replaceAll("-", "0"),
    ID.replace("0189", "0-89"),
    `g${ID.slice(1)}`,
    `${ID.slice(0, 35)}-`,
    `${ID.slice(0, 35)}é`,
    `${ID.slice(0, 35)}€`,
  ];
  for (const text of wrong) {
    expect(uuidBytes(text).length, text).toBe(0);
    expect(sharedUuidBytes(text).length, text).toBe(0);
    expect(() => newUuidBytes(text), text).toThrow("is not a UUID");
  }
});
