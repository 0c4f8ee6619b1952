import { isResult } from "../../packages/holdfast/src/model/message.ts";
import type { Checker, Found } from "../evidence.ts";

/** Events that come from messages which are no signals, or from a call that has an id: a retry is no message. */
const OTHERS: ReadonlySet<string> = new Set([
  "task_completed",
  "task_failed",
  "child_completed",
  "child_failed",
  "message_sent",
  "message_failed",
  "update_accepted",
  "update_rejected",
  "pause_requested",
  "run_resumed",
  "run_retried",
]);

const SILENT: ReadonlySet<string> = new Set(["update", "pause", "resume"]);

/**
 * Signals reach a chain of runs exactly once, and those of one sender in the order they were sent: what history has
 * from a sender is the beginning of its letters, without a gap.
 */
export const signals: Checker = {
  name: "signals",
  needs: ["letters", "inboxes"],
  check({ runs, letters = [], inboxes }) {
    const found: Found[] = [];
    const order = new Map<string, { readonly sender: string; readonly number: number }>();
    for (const { id, sender, messageIds } of letters)
      for (const [i, messageId] of messageIds.entries())
        order.set(messageId, { sender: `${id} ${sender}`, number: i + 1 });
    const firsts = new Map<string, string>();
    const restarted = new Set<string>();
    for (const { run } of runs) {
      if ((firsts.get(run.id) ?? run.firstRunId) !== run.firstRunId) restarted.add(run.id);
      firsts.set(run.id, run.firstRunId);
    }
    const chains = new Map<string, { received: Set<string>; next: Map<string, number> }>();
    for (const { run, history } of runs) {
      const { runId, firstRunId, consumed } = run;
      const fault = (text: string): void => void found.push({ runId, text });
      const chain = chains.get(firstRunId) ?? { received: new Set(), next: new Map() };
      chains.set(firstRunId, chain);
      const own = new Set<string>();
      let number = 0;
      // The results of tasks and of other runs are deleted when they are consumed, and refused updates leave no event. Nor does a
      // pause or a resume that changes nothing.
      const inbox = (inboxes?.get(runId) ?? []).filter(({ kind }) => !isResult(kind) && !SILENT.has(kind));
      for (const { type, meta } of history) {
        if (meta?.messageId === undefined || OTHERS.has(type)) continue;
        const { messageId } = meta;
        // The result message of a transaction that the code no longer waits for is consumed and leaves no event.
        while (inbox[number]?.kind === "outcome" && inbox[number]?.messageId !== messageId) number += 1;
        const message = inbox[number++];
        if (message?.messageId !== messageId)
          fault(`message ${number} is ${message?.messageId}, but history has ${messageId}`);
        if (own.has(messageId)) fault(`${messageId} was received twice`);
        own.add(messageId);
        if (chain.received.has(messageId)) continue; // passed on by the previous run, unread
        chain.received.add(messageId);
        const place = order.get(messageId);
        // A late copy of a letter to an id may reach a later run of that id.
        if (!place || restarted.has(run.id)) continue;
        const expected = chain.next.get(place.sender) ?? place.number;
        if (place.number !== expected) fault(`${messageId} came, but number ${expected} of ${place.sender} was next`);
        chain.next.set(place.sender, place.number + 1);
      }
      const taken = inbox.filter((message) => message.number <= consumed).length;
      while (number < taken && inbox[number]?.kind === "outcome") number += 1;
      if (number !== taken) fault(`${number} messages in history, but ${taken} are consumed`);
    }
    return found;
  },
};
