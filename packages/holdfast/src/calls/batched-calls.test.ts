import { expect, test } from "vitest";
import { EMPTY_PAYLOAD } from "../model/payload.ts";
import type { DeliverMessage, DeliverMessagesParams, Store } from "../ports/store.ts";
import { sendMessages } from "./batched-calls.ts";

function signal(runId: string, messageId: string): DeliverMessage {
  return { to: { namespace: "default", runId }, kind: "signal", name: "s", messageId, payload: EMPTY_PAYLOAD };
}

/** Answers the calls with these outcomes, by run. */
function storeThat(...answers: readonly Readonly<Record<string, "busy" | "delivered" | "duplicate">>[]) {
  const calls: string[][] = [];
  const deliver = async ({ messages }: DeliverMessagesParams) => {
    const answer = answers[calls.length] ?? {};
    calls.push(messages.map(({ messageId }) => messageId));
    const outcomes = messages.map(({ to }) => {
      const { runId } = to as { runId: string };
      return { outcome: answer[runId] ?? "delivered", runId, status: "running" as const };
    });
    return { outcomes };
  };
  return { calls, ports: { store: { inbox: { deliver } } as unknown as Store } };
}

test("a message that is sent twice at once is a duplicate the second time", async () => {
  const { calls, ports } = storeThat({}, { a: "duplicate" });
  const outcomes = await sendMessages(ports, [signal("a", "1"), signal("a", "1"), signal("a", "2")]);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(["delivered", "duplicate", "delivered"]);
  expect(calls).toEqual([["1", "2"], ["1"]]);
});

test("to a run that is locked, the second of the same id does not overtake what was sent in between", async () => {
  const { calls, ports } = storeThat({ a: "busy" }, { b: "duplicate" });
  const messages = [signal("a", "1"), signal("a", "1"), signal("a", "2"), signal("b", "3"), signal("b", "3")];
  const outcomes = await sendMessages(ports, messages);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(["busy", "busy", "busy", "delivered", "duplicate"]);
  expect(calls).toEqual([["1", "2", "3"], ["3"]]);
});
