import { expect, test } from "vitest";
import { testTitles } from "./test-titles.ts";

test("a title is read with the groups around it, also of tests that are made from a table", () => {
  const text = `
    test("alone", () => {});
    describe("a group", () => {
      it("has one", () => expect("not a title").toBe(1));
      describe.each([1])("and %s more", () => {
        test.each([["x"]])("of %s", () => {});
        test(dynamic, () => {});
      });
    });
  `;
  expect(testTitles({ path: "sample.test.ts", text })).toEqual([
    "alone",
    "a group › has one",
    "a group › and %s more › of %s",
  ]);
});
