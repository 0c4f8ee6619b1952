import { HoldfastError } from "holdfast";
import type { StoreHooks, StoreMethod } from "holdfast/adapter";

/** The first calls of this kind fail: before they take effect, or with their answers lost. */
export function failing(method: StoreMethod, moment: "before" | "after", times: number): StoreHooks {
  let left = times;
  const hook = async (_params: unknown, call: () => Promise<unknown>): Promise<unknown> => {
    const fails = left > 0;
    left -= 1;
    if (fails && moment === "before") throw new HoldfastError("store_unavailable", "the connection was refused");
    const answer = await call();
    if (fails) throw new HoldfastError("store_outcome_unknown", "the answer was lost");
    return answer;
  };
  return { [method]: hook } as StoreHooks;
}
