import { type OpKind, type Site, seenAt } from "./program.ts";

interface PatchedNode {
  readonly kind: "patched";
  readonly id: string;
}

/** A step that a deployment adds to the code of a version. */
export const patched: OpKind<PatchedNode> = {
  kind: "patched",
  draw: (draft) => (draft.onTrunk ? { kind: "patched", id: draft.name("p") } : undefined),
  async run({ id }, site) {
    if (site.stage.generation === 0 || !site.ctx.patched(id)) return "old";
    return addedStep(`${id}-added`, site);
  },
};

function addedStep(op: string, site: Site): Promise<string> {
  const seen = seenAt(site);
  const { runId } = site.ctx.info;
  return site.ctx.step(op, (info) => site.stage.perform(runId, { op, ms: 10, failures: 0 }, info, seen));
}
