import { expect, it } from "vitest";
import { formatPath, type PathSegment } from "./value-path.ts";

it.each([
  [[], ""],
  [["items", 3, "price"], "items[3].price"],
  [[0, "a"], "[0].a"],
  [["headers", "x-id"], 'headers["x-id"]'],
  [["größe", "$ref"], "größe.$ref"],
  [["", "1"], '[""]["1"]'],
  [["a", Symbol("s")], "a[Symbol(s)]"],
  [["tags", { text: '.get("k")' }, "x"], 'tags.get("k").x'],
] as [PathSegment[], string][])("prints %j as %s", (segments, text) => {
  expect(formatPath(segments)).toBe(text);
});
