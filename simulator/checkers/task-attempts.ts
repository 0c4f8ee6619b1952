import type { Checker, Found } from "../evidence.ts";

/**
 * A task is attempted as often as its policy allows, and not more; one that must not be repeated is executed once for each
 * attempt; and an attempt is told what the ones before it reported last.
 */
export const taskAttempts: Checker = {
  name: "task-attempts",
  needs: ["executions"],
  check({ executions = [] }) {
    const found: Found[] = [];
    const seen = new Set<string>();
    const beats = new Map<string, Set<unknown>>();
    for (const { runId, seq, epoch, op, attempt, attemptsMax, once, hold, ...told } of executions) {
      const { lastDetails, storedDetails, beats: own } = told;
      const fault = (text: string): void => void found.push({ runId, text: `"${op}" (${seq}.${epoch}) ${text}` });
      if (attempt > attemptsMax) fault(`begins attempt ${attempt} of ${attemptsMax}`);
      if (hold && hold.attempt !== attempt)
        fault(`begins attempt ${attempt}, but was taken for attempt ${hold.attempt}`);
      const key = `${runId}/${seq}`;
      if (once && seen.has(`${key}/${attempt}`)) fault(`is executed again as attempt ${attempt}`);
      seen.add(`${key}/${attempt}`);
      if (hold && !storedDetails.includes(lastDetails))
        fault(`was told ${lastDetails}, not ${storedDetails.map(String).join(" or ")}`);
      const reported = beats.get(key) ?? new Set();
      beats.set(key, reported);
      if (lastDetails !== undefined && !reported.has(lastDetails) && !String(lastDetails).startsWith("beat"))
        fault(`was told ${lastDetails}, which no earlier attempt reported`);
      reportAll(reported, own);
    }
    return found;
  },
};

function reportAll(reported: Set<unknown>, own: readonly string[]): void {
  for (const beat of own) reported.add(beat);
}
