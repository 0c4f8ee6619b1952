import type { Checker } from "../evidence.ts";

/**
 * An op whose completion is recorded is never executed again; one that must not be repeated is executed once per
 * attempt.
 */
export const completedOnce: Checker = {
  name: "completed-once",
  needs: ["effects"],
  check({ runs, effects = [] }) {
    const retried = new Set(
      runs.flatMap(({ run, history }) =>
        history.flatMap((event) => (event.meta?.forgets ?? []).map((op) => `${run.runId} ${op}`)),
      ),
    );
    const seen = new Set<string>();
    return effects.flatMap(({ runId, op, attempt, completed, once, process, at }) => {
      const where = `on ${process} at ${at.toFixed(1)}`;
      if (completed) return [{ runId, text: `"${op}" is executed ${where}, although its completion is recorded` }];
      if (!once || retried.has(`${runId} ${op}`)) return [];
      const key = `${runId} ${op} ${attempt}`;
      if (seen.has(key)) return [{ runId, text: `"${op}" is executed twice as attempt ${attempt}, again ${where}` }];
      seen.add(key);
      return [];
    });
  },
};
