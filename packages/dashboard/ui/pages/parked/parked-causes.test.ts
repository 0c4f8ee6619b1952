import { expect, test } from "vitest";
import { causeKey, causeText, inOrder, remedyOf } from "./parked-causes.ts";

const group = (cause: string, count: number, workflow = "order") => ({ cause, count, workflow });

test("the largest comes first, and what was paused on purpose last", () => {
  const order = inOrder([group("paused", 9), group("foreign_await", 1), group("replay_divergence", 2)]);
  expect(order.map(({ cause }) => cause)).toEqual(["replay_divergence", "foreign_await", "paused"]);
});

test("causes of the same size keep their order", () => {
  const order = inOrder([group("b", 1), group("a", 1, "y"), group("a", 1, "x")]);
  expect(order.map(causeKey)).toEqual(["a:x", "a:y", "b:order"]);
});

test("a code that nobody has described is shown as it is", () => {
  expect(causeText("odd_code").title).toBe("Parked: odd_code");
  expect(causeText("__proto__").title).toBe("Parked: __proto__");
  expect(causeText("constructor").title).toBe("Parked: constructor");
});

test("runs that fixed code takes up are marked, others need somebody", () => {
  expect(causeText("workflow_bug").comesBack).toBe(true);
  expect(causeText("foreign_await").comesBack).toBeUndefined();
});

test("a run whose compensation failed is retried, a parked one resumed", () => {
  expect(remedyOf("compensation_failed")).toBe("retry");
  expect(remedyOf("paused")).toBe("resume");
});
