import type { ChildHandle } from "../../packages/holdfast/src/replay/context/context.ts";
import { type ChildPlan, drawChild, inputOf, optionsOf } from "./child.ts";
import { definitionOfProgram } from "./definitions.ts";
import { NOTE } from "./post.ts";
import { errorText, isCancellation, type OpKind, type Site } from "./program.ts";
import { ADD, drawManner, type Manner } from "./talk.ts";

const DEEDS = ["note", "update", "cancel", "result", "watch"] as const;

interface Deed {
  readonly what: (typeof DEEDS)[number];
  readonly how: Manner;
}

interface FamilyNode {
  readonly kind: "family";
  readonly child: ChildPlan;
  readonly deeds: readonly Deed[];
  /** A child that does not complete makes this code fail. */
  readonly strict: boolean;
}

/** A child that is talked to by its handle, and awaited or left to itself. */
export const family: OpKind<FamilyNode> = {
  kind: "family",
  draw(draft) {
    const { dice } = draft;
    const plan = drawChild(draft);
    if (!plan) return undefined;
    const deed = (): Deed => ({
      what: dice.pick(["note", "note", "update", "update", "update", "cancel", "result", "result", "watch"] as const),
      how: drawManner(dice),
    });
    const deeds = Array.from({ length: dice.int(0, 4) }, deed);
    return { kind: "family", child: plan, deeds, strict: dice.chance(0.5) };
  },
  async run({ child: plan, deeds, strict }, site) {
    const { workflow } = plan;
    const started: ChildHandle = await site.ctx.startChild(
      definitionOfProgram(workflow),
      inputOf(workflow, site),
      optionsOf(plan, site),
    );
    const results: unknown[] = [];
    for (const [i, deed] of deeds.entries()) {
      try {
        results.push(await perform(deed, `${workflow}-${i}`, started, site));
      } catch (error) {
        if (isCancellation(error) || (strict && deed.what === "result")) throw error;
        results.push(errorText(error));
      }
    }
    return results;
  },
};

async function perform({ what, how }: Deed, name: string, handle: ChildHandle, site: Site): Promise<unknown> {
  const { info } = site.ctx;
  switch (what) {
    case "note":
      for (const number of [1, 2])
        await handle.signal(NOTE, { from: info.runId, by: name, number, seen: info.historyLength });
      return "noted";
    case "update":
      return handle.update(ADD, { id: name, how });
    case "cancel":
      await handle.cancel("not needed");
      return "canceled";
    case "watch":
      return site.ctx.resultOf(handle);
    default:
      return handle.result();
  }
}
