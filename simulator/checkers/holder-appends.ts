import type { Checker } from "../evidence.ts";

/** Only the holder of the current epoch has appended, and only with the current commit number. */
export const holderAppends: Checker = {
  name: "holder-appends",
  needs: ["commits"],
  check: ({ commits = [] }) =>
    commits
      .filter(({ applied }) => applied)
      .flatMap(({ runId, workerId, epoch, commit, before }) => {
        const who = `${workerId} with ${epoch}.${commit}`;
        if (before.heldBy !== workerId) return [{ runId, text: `${who} wrote, but ${before.heldBy} held the run` }];
        if (before.epoch === epoch && before.commit === commit) return [];
        return [{ runId, text: `${who} wrote, but the row was at ${before.epoch}.${before.commit}` }];
      }),
};
