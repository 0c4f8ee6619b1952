import { signal } from "../../packages/holdfast/src/define/definitions.ts";
import { noteSight, type OpKind, seenAt } from "./program.ts";

export const LETTER = signal<string>("letter");

interface MailboxNode {
  readonly kind: "mailbox";
  readonly name: string;
  readonly letters: number;
  /** Whether a step records each letter. */
  readonly files: boolean;
}

/** Reads letters from several senders, one after the other. */
export const mailbox: OpKind<MailboxNode> = {
  kind: "mailbox",
  draw(draft) {
    if (!draft.onTrunk) return undefined;
    const letters = draft.dice.int(1, 6);
    draft.letters(letters);
    return { kind: "mailbox", name: draft.name("m"), letters, files: draft.dice.chance(0.4) };
  },
  async run({ name, letters, files }, site) {
    const read: string[] = [];
    for (let i = 0; i < letters; i++) {
      read.push(await site.ctx.receive(LETTER));
      if (!files) continue;
      const seen = seenAt(site);
      const plan = { op: `${name}-${i}`, ms: 20, failures: 0 };
      const { runId } = site.ctx.info;
      await noteSight(
        site,
        plan.op,
        site.ctx.step(plan.op, (info) => site.stage.perform(runId, plan, info, seen)),
      );
    }
    return read;
  },
};
