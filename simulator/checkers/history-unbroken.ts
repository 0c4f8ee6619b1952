import type { Checker, Found } from "../evidence.ts";
import { digest } from "../store/recorder.ts";
import { voidEvents } from "../void-events.ts";

const ENDINGS = [
  "step_completed",
  "step_failed",
  "timer_fired",
  "task_completed",
  "task_failed",
  "child_completed",
  "child_failed",
  "message_sent",
  "message_failed",
  "update_completed",
];

/** A history has no gap and no fork: an appended event stays forever, and each op ends once. */
export const historyUnbroken: Checker = {
  name: "history-unbroken",
  needs: [],
  check({ runs, commits }) {
    const found: Found[] = [];
    const texts = new Map<string, readonly string[]>();
    for (const { run, history } of runs) {
      const { runId } = run;
      const fault = (text: string): void => void found.push({ runId, text });
      if (commits) texts.set(runId, history.map(digest));
      if (history.length !== run.eventCount) fault(`${history.length} events, but the row says ${run.eventCount}`);
      const ended = new Set<string>();
      const isVoid = voidEvents(history);
      history.forEach((event, i) => {
        if (event.seq !== i + 1) fault(`event ${event.seq} is at position ${i + 1}`);
        if (event.at < (history[i - 1]?.at ?? 0)) fault(`event ${event.seq} is earlier than the one before`);
        if (event.op === null || !ENDINGS.includes(event.type) || isVoid.has(event)) return;
        if (ended.has(event.op)) fault(`"${event.op}" ends twice, the second time in event ${event.seq}`);
        ended.add(event.op);
      });
    }
    for (const { runId, applied, digest: then } of commits ?? []) {
      if (!applied) continue;
      const now = texts.get(runId);
      const changed = then.find((text) => now?.[Number.parseInt(text, 10) - 1] !== text);
      if (changed !== undefined) found.push({ runId, text: `an appended event is gone: ${changed}` });
    }
    return found;
  },
};
