import { jsonCodec } from "../../packages/holdfast/src/codec/json-codec.ts";
import { sentMessageId } from "../../packages/holdfast/src/model/ids.ts";
import type { Message } from "../../packages/holdfast/src/model/message.ts";
import type { Checker, Evidence, Found } from "../evidence.ts";
import { voidEvents } from "../void-events.ts";
import { NOTE, type Note } from "../workload/post.ts";

/**
 * What a run sends to another one arrives exactly once, and in the order of sending; not before what the sender had seen is
 * durable; and not at all if the sender is told so.
 */
export const runMessages: Checker = {
  name: "run-messages",
  needs: ["inboxes", "earlyNotes"],
  check(evidence) {
    const { runs, earlyNotes = [] } = evidence;
    const found: Found[] = earlyNotes.map(({ runId, text }) => ({ runId, text }));
    const chains = notesByChain(evidence);
    const arrived = new Map<string, Set<string>>();
    const refused = refusedNotes(evidence);
    for (const [chain, messages] of chains) {
      const last = new Map<string, number>();
      for (const { messageId, payload } of messages) {
        const { from, by, number } = jsonCodec.decode(payload) as Note;
        if (from === "driver") continue;
        arrived.set(messageId, (arrived.get(messageId) ?? new Set()).add(chain));
        // Nobody was sent it, as the sender knows: a late copy of it has no place in the order.
        if (refused.has(messageId)) continue;
        const before = last.get(`${from} ${by}`) ?? 0;
        if (number <= before)
          found.push({ runId: chain, text: `note ${number} of "${by}" of ${from} came after ${before}` });
        last.set(`${from} ${by}`, number);
      }
    }
    for (const { run, history } of runs) {
      // The next try of a run may send what it was told had failed, to another child.
      const isVoid = voidEvents(history);
      for (const event of history) {
        const { type, op, meta } = event;
        if (!op?.startsWith(`signal:${NOTE.name}`) || isVoid.has(event)) continue;
        const { runId } = run;
        const places = arrived.get(sentMessageId(runId, op))?.size ?? 0;
        if (type === "message_sent" && places === 0) found.push({ runId, text: `"${op}" was sent and is nowhere` });
        // A late copy of a message to an id may reach a run of that id that did not exist before, or the next one.
        if (meta?.to?.runId === undefined) continue;
        if (type === "message_failed" && places > 0)
          found.push({ runId, text: `"${op}" arrived, but the sender was told ${meta.error?.code}` });
        if (type === "message_sent" && places > 1) found.push({ runId, text: `"${op}" arrived in ${places} runs` });
      }
    }
    return found;
  },
};

/** The notes to an id of which their sender was told that they have reached nobody. */
function refusedNotes({ runs }: Evidence): ReadonlySet<string> {
  const refused = new Set<string>();
  for (const { run, history } of runs)
    for (const { type, op, meta } of history) {
      if (op === null) continue;
      const messageId = sentMessageId(run.runId, op);
      if (type === "message_failed" && meta?.to?.runId === undefined) refused.add(messageId);
      // The next try of a run sends it again.
      if (type === "message_sent") refused.delete(messageId);
    }
  return refused;
}

/** The notes that each chain of runs got. What a run that continued has not read is in the inbox of its successor as well. */
function notesByChain({ runs, inboxes }: Evidence): ReadonlyMap<string, readonly Message[]> {
  const chains = new Map<string, Message[]>();
  for (const { run } of runs) {
    const { runId, firstRunId, consumed, status } = run;
    const own = (inboxes?.get(runId) ?? []).filter(
      ({ kind, name, number }) =>
        kind === "signal" && name === NOTE.name && (status !== "continued" || number <= consumed),
    );
    const earlier = chains.get(firstRunId) ?? [];
    const known = new Set(earlier.map(({ messageId }) => messageId));
    // What was received in a turn that the end of the run took back is handed on too.
    chains.set(firstRunId, [...earlier, ...own.filter(({ messageId }) => !known.has(messageId))]);
  }
  return chains;
}
