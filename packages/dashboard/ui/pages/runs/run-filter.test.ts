import { expect, test } from "vitest";
import { batchFilter, chipsOf, filterParams, isView, spanMs, VIEWS } from "./run-filter.ts";

const NOW = Date.UTC(2026, 10, 15, 16, 13, 2);
const MINUTE = Date.UTC(2026, 10, 15, 16, 13);

test("what the URL says is what the API is asked", () => {
  const search = {
    status: "failed,parked",
    workflow: "order",
    "attr.region": "eu",
    retrying: "1",
    created: "24h",
    text: "1",
  };
  expect(filterParams(search, NOW)).toEqual({
    status: "failed,parked",
    workflow: "order",
    "attr.region": "eu",
    retrying: "true",
    createdAfter: String(MINUTE - 86_400_000),
  });
  expect(batchFilter(search, NOW)).toEqual({
    status: ["failed", "parked"],
    workflow: "order",
    attributes: { region: "eu" },
    retrying: true,
    createdAfter: MINUTE - 86_400_000,
  });
});

test("a brushed time wins over a span, and nonsense is left out", () => {
  expect(filterParams({ created: "1h", createdAfter: "5", createdBefore: "9" }, NOW)).toEqual({
    createdAfter: "5",
    createdBefore: "9",
  });
  expect(filterParams({ created: "soon", createdAfter: "x", q: "  " }, NOW)).toEqual({});
  expect(spanMs("90m")).toBe(5_400_000);
});

test("every condition has a chip", () => {
  const chips = chipsOf({ status: "timed_out,failed", "attr.region": "eu", created: "24h", waiting: "1h" }, String);
  expect(chips.map(({ label, value }) => `${label} ${value}`)).toEqual([
    "status is timed out, failed",
    "region is eu",
    "created last 24 h",
    "waits longer than 1 h",
  ]);
});

test("a view is current if the URL has its conditions and no others", () => {
  const failed = VIEWS.find(({ name }) => name === "Failed today");
  expect(isView(failed?.search ?? {}, { created: "24h", status: "failed", text: "1" })).toBe(true);
  expect(isView(failed?.search ?? {}, { created: "24h", status: "failed", workflow: "order" })).toBe(false);
  expect(isView({}, {})).toBe(true);
});
