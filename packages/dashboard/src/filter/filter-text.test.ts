import { expect, test } from "vitest";
import { FilterError, parseFilter } from "./filter-text.ts";

const NOW = Date.UTC(2026, 0, 2);

test.each([
  ["", [{}]],
  ["workflow:order", [{ workflow: "order" }]],
  ['workflow:"two words" queue:q', [{ workflow: "two words", queue: "q" }]],
  ["status:failed,parked AND status:parked", [{ status: ["parked"] }]],
  ["status:failed AND status:parked", []],
  ["a:b".replace("a", "id"), [{ id: "b" }]],
  ["id:1 OR id:2", [{ id: "1" }, { id: "2" }]],
  [
    "workflow:w AND (id:1 OR id:2)",
    [
      { workflow: "w", id: "1" },
      { workflow: "w", id: "2" },
    ],
  ],
  ["created>2026-01-01 created<-1h", [{ createdAfter: Date.UTC(2026, 0, 1), createdBefore: NOW - 3_600_000 }]],
  ["waiting>10m", [{ waitingSince: NOW - 600_000 }]],
  ["waiting:receive:paid", [{ waitingFor: "receive:paid" }]],
  ["waiting:paid", [{ waitingFor: "paid" }, { waitingFor: "receive:paid" }]],
  ["error:ECONNRESET", [{ error: "ECONNRESET" }]],
  ['error:"card declined"', [{ errorText: ["card declined"] }]],
  ["message:card message:declined", [{ errorText: ["card", "declined"] }]],
  ["is:retrying", [{ retrying: true }]],
  ["attr.tenant:acme attr.size:3 attr.big:true", [{ attributes: { tenant: "acme", size: 3, big: true } }]],
  ["attr.zip:007", [{ attributes: { zip: "007" } }]],
  [
    '"a \\"b\\" (c)"',
    [
      { id: 'a "b" (c)' },
      { workflow: 'a "b" (c)' },
      { waitingFor: 'a "b" (c)' },
      { waitingFor: 'receive:a "b" (c)' },
      { error: 'a "b" (c)' },
      { errorText: ['a "b" (c)'] },
    ],
  ],
])("%j", (text, filters) => {
  expect(parseFilter(text, NOW)).toEqual(filters);
});

test.each([
  ["(id:1", 0],
  ["id:1)", 4],
  ["id:1 OR", 7],
  ["AND id:1", 0],
  ["nope:1", 0],
  ["status:nope", 0],
  ['id:"open', 3],
  ["created>yesterday", 0],
  ["constructor:x", 0],
])("%j is refused at %i", (text, position) => {
  expect(() => parseFilter(text, NOW)).toThrow(FilterError);
  try {
    parseFilter(text, NOW);
  } catch (error) {
    expect((error as FilterError).position).toBe(position);
  }
});

test("too many alternatives are refused", () => {
  const text = Array.from({ length: 5 }, (_, index) => `(id:a${index} OR id:b${index})`).join(" AND ");
  expect(parseFilter(text, NOW)).toEqual([]);
  expect(() => parseFilter("a b c", NOW)).toThrow(/alternatives/);
});
