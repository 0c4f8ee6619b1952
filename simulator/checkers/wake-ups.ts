import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { Checker } from "../evidence.ts";

/** No wake-up is lost: a run that is suspended or released while messages wait for it is due at once. */
export const wakeUps: Checker = {
  name: "wake-ups",
  needs: ["commits"],
  check: ({ commits = [] }) =>
    commits
      .filter(({ applied, after }) => {
        const waits =
          applied && after.heldBy === null && after.delivered > after.consumed && after.availableAt === null;
        return waits && after.status !== "parked" && !isClosed(after.status);
      })
      .map(({ runId, after }) => ({
        runId,
        text: `its worker stopped holding it after ${after.consumed} of ${after.delivered} messages, and is not due`,
      })),
};
