import { type OpKind, seenAt } from "./program.ts";

interface RetiredNode {
  readonly kind: "retired";
  readonly op: string;
}

/** A step that a deployment removes from the code of a version. It comes first; messages may arrive while it is in flight. */
export const retired: OpKind<RetiredNode> = {
  kind: "retired",
  draw: (draft) => (draft.isFirst ? { kind: "retired", op: draft.name("r") } : undefined),
  async run({ op }, site) {
    if (site.stage.retires) {
      site.ctx.retired(op);
      return null;
    }
    const seen = seenAt(site);
    const { runId } = site.ctx.info;
    await site.ctx.step(op, (info) => site.stage.perform(runId, { op, ms: 10, failures: 0 }, info, seen));
    return null;
  },
};
