import { describe, expect, test } from "vitest";
import { drawnFrom, seedOf, traceOf } from "./run-seed.ts";
import { splitName, traceContext, tracedName, traceHeaders } from "./trace-context.ts";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("the trace context of headers", () => {
  test("is one text, and the text becomes the same headers again", () => {
    for (const headers of [{ traceparent: PARENT }, { traceparent: PARENT, tracestate: "a=1, b@c=x y" }])
      expect(traceHeaders(traceContext(headers))).toEqual(headers);
    expect(traceHeaders(undefined)).toEqual({});
  });

  test.each([
    ["none", {}],
    ["no traceparent", { tracestate: "a=1" }],
    ["a text of another form", { traceparent: "nonsense" }],
    ["a trace id of zeros", { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` }],
    ["a span id of zeros", { traceparent: `00-0af7651916cd43dd8448eb211c80319c-${"0".repeat(16)}-01` }],
    ["the version that there is none of", { traceparent: PARENT.replace(/^00/, "ff") }],
    ["capitals", { traceparent: PARENT.toUpperCase() }],
    ["more after it", { traceparent: `${PARENT}-00` }],
  ])("is none for %s", (_, headers) => expect(traceContext(headers)).toBeUndefined());

  test.each(["", "a=\u0001", "ü=1", "x".repeat(513)])("leaves out the tracestate %j alone", (tracestate) => {
    expect(traceContext({ traceparent: PARENT, tracestate })).toBe(PARENT);
  });
});

test("a seed has the run id and the trace, and only the first is drawn from", () => {
  const trace = `${PARENT} a=1,b=2 3`;
  expect(traceOf(seedOf("id", trace))).toBe(trace);
  expect(drawnFrom(seedOf("id", trace))).toBe("id");
  expect([seedOf("id", undefined), seedOf("id", "no trace"), seedOf("id", 7)]).toEqual(["id", "id", "id"]);
  expect([traceOf("id"), drawnFrom("id")]).toEqual([undefined, "id"]);
});

test("the name of a signal in the inbox has its trace, without the tracestate", () => {
  expect(splitName(tracedName("go", `${PARENT} a=1`))).toEqual({ name: "go", trace: PARENT });
  expect(splitName(tracedName("go", undefined))).toEqual({ name: "go" });
  expect(tracedName("go", "no trace")).toBe("go");
});
