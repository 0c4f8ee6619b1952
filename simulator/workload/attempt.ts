import { runChain } from "./parallel.ts";
import { errorText, isCancellation, type Node, type OpKind } from "./program.ts";

interface AttemptNode {
  readonly kind: "attempt";
  readonly body: readonly Node[];
  readonly instead: readonly Node[];
}

/** Code that catches a failure and does something else instead. */
export const attempt: OpKind<AttemptNode> = {
  kind: "attempt",
  draw({ nodes }) {
    const body = nodes(1, 3);
    return body.length === 0 ? undefined : { kind: "attempt", body, instead: nodes(0, 1) };
  },
  async run({ body, instead }, site) {
    try {
      return await runChain(body, site);
    } catch (error) {
      if (isCancellation(error)) throw error;
      return { caught: errorText(error), instead: await runChain(instead, site) };
    }
  },
};
