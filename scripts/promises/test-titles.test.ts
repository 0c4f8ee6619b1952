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

test("a title that is a template is read as it is written", () => {
  const text = `
    describe(\`on \${store}\`, () => {
      test("nothing is lost", () => {});
    });
  `;
  expect(testTitles({ path: "sample.test.ts", text })).toEqual([`on \${store} › nothing is lost`]);
});

test("the cases of a suite of the store contract are titles too, with its noun before them", () => {
  const text = `
    export const claims: Suite = {
      noun: "claims",
      cases: {
        "a claim takes what is due": async (t) => { expect({ "not a title": 1 }).toBe(t); },
        [computed]: async () => {},
        ...others,
      },
    };
    const noSuite = { cases: { "not a title": 1 } };
  `;
  expect(testTitles({ path: "claims.ts", text })).toEqual(["claims › a claim takes what is due"]);
});
