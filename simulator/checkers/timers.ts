import type { Checker, Found } from "../evidence.ts";

/** Nothing happens before its time: timers, retries, deadlines. */
export const timers: Checker = {
  name: "timers",
  needs: [],
  check: ({ runs }) =>
    runs.flatMap(({ run, history }): Found[] => {
      const { runId } = run;
      const due = new Map<string, number>();
      return history.flatMap(({ type, op, at, meta }): Found[] => {
        if (type === "timer_created") due.set(op as string, meta?.fireAt ?? 0);
        if (type === "timer_fired" && at < (due.get(op as string) ?? 0))
          return [{ runId, text: `timer "${op}" fired at ${at}, due at ${due.get(op as string)}` }];
        if (type === "timer_fired" && !due.has(op as string))
          return [{ runId, text: `timer "${op}" fired and was never made` }];
        if (type === "deadline_reached" && run.deadlineAt !== null && at < run.deadlineAt)
          return [{ runId, text: `the deadline was reached at ${at}, due at ${run.deadlineAt}` }];
        return [];
      });
    }),
};
