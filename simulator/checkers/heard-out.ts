import { jsonCodec } from "../../packages/holdfast/src/codec/json-codec.ts";
import type { Message } from "../../packages/holdfast/src/model/message.ts";
import type { Checker, Found } from "../evidence.ts";
import { LAST_WORD } from "../workload/last-words.ts";

/**
 * A run whose code reads signals until there are none, and then returns, has received every accepted signal, in order.
 */
export const heardOut: Checker = {
  name: "heard-out",
  needs: ["programs", "inboxes"],
  check({ runs, programs, inboxes }) {
    const found: Found[] = [];
    for (const { run } of runs) {
      const { runId, workflow, version, status, output } = run;
      if (!programs?.get(`${workflow}@${version}`)?.lastWords || status !== "completed" || output === null) continue;
      const results = jsonCodec.decode(output) as readonly unknown[];
      const heard = results.at(-1) as readonly string[];
      const accepted = (inboxes?.get(runId) ?? []).filter(isLastWord).map(({ payload }) => jsonCodec.decode(payload));
      if (JSON.stringify(heard) !== JSON.stringify(accepted))
        found.push({ runId, text: `it was sent ${accepted.join(", ")}, but received ${heard.join(", ")}` });
    }
    return found;
  },
};

function isLastWord({ kind, name }: Message): boolean {
  return kind === "signal" && name === LAST_WORD.name;
}
