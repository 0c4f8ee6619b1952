import { jsonCodec } from "../../packages/holdfast/src/codec/json-codec.ts";
import type { Checker, Found } from "../evidence.ts";
import type { Waited } from "../workload/condition.ts";

/** A condition is true when code goes on because of it, and is not when its time has passed. */
export const conditions: Checker = {
  name: "conditions",
  needs: ["programs"],
  check: ({ runs }) =>
    runs.flatMap(({ run }): Found[] => {
      if (run.status !== "completed" || run.output === null || run.output.length === 0) return [];
      const wrong = waited(jsonCodec.decode(run.output)).filter(({ wanted, saw, inTime }) => inTime !== saw >= wanted);
      return wrong.map((one) => ({ runId: run.runId, text: `a condition came to ${JSON.stringify(one)}` }));
    }),
};

/** What its conditions came to, anywhere in an output. */
function waited(value: unknown): readonly Waited[] {
  if (Array.isArray(value)) return value.flatMap(waited);
  if (typeof value !== "object" || value === null) return [];
  return "inTime" in value ? [value as Waited] : Object.values(value).flatMap(waited);
}
