import { signal } from "../../packages/holdfast/src/define/definitions.ts";
import { errorText, isCancellation, type OpKind, type Site } from "./program.ts";

/** From one run to another: who sends it, by which op, and its number there. */
export interface Note {
  readonly from: string;
  readonly by: string;
  readonly number: number;
  /** How many events the code of the sender had seen. */
  readonly seen?: number;
}

export const NOTE = signal<Note>("note");

interface PostNode {
  readonly kind: "post";
  readonly name: string;
  readonly to: number;
  readonly notes: number;
}

/** Notes to another run that was planned, one after the other. */
export const post: OpKind<PostNode> = {
  kind: "post",
  draw({ dice, name }) {
    return { kind: "post", name: name("n"), to: dice.int(1, 48), notes: dice.int(1, 3) };
  },
  async run({ name, to, notes }, site) {
    const target = plannedRun(to, site);
    if (target === undefined) return "nobody";
    const sent: string[] = [];
    for (let number = 1; number <= notes; number++) {
      const { runId: from, historyLength: seen } = site.ctx.info;
      const note = { from, by: name, number, seen };
      sent.push(await answered(site.ctx.signal(target, NOTE, note), "sent"));
    }
    return sent;
  },
};

interface NoticeNode {
  readonly kind: "notice";
  readonly timeoutMs: number;
}

/** Reads a note, if there is one in time. */
export const notice: OpKind<NoticeNode> = {
  kind: "notice",
  draw: ({ dice }) => ({ kind: "notice", timeoutMs: dice.pick([0, 300, 3_000]) }),
  async run({ timeoutMs }, { ctx }) {
    const note = await ctx.receive(NOTE, { timeout: { milliseconds: timeoutMs } });
    return note === undefined ? "nothing" : JSON.stringify(note);
  },
};

interface RecallNode {
  readonly kind: "recall";
  readonly to: number;
}

/** Asks another run that was planned to stop. */
export const recall: OpKind<RecallNode> = {
  kind: "recall",
  draw: ({ dice }) => ({ kind: "recall", to: dice.int(1, 48) }),
  async run({ to }, site) {
    const target = plannedRun(to, site);
    return target === undefined ? "nobody" : answered(site.ctx.cancel(target, "recalled"), "recalled");
  },
};

interface SequelNode {
  readonly kind: "sequel";
  readonly to: number;
}

/** Waits for another run that was planned. */
export const sequel: OpKind<SequelNode> = {
  kind: "sequel",
  draw: ({ dice }) => ({ kind: "sequel", to: dice.int(1, 48) }),
  async run({ to }, site) {
    const { rank, ctx } = site;
    // Only for runs that were planned before: nobody waits in a circle.
    const target = plannedRun(to % Math.max(1, rank), site);
    if (target === undefined) return "nobody";
    try {
      return await ctx.resultOf(target);
    } catch (error) {
      if (isCancellation(error)) throw error;
      return errorText(error);
    }
  },
};

function plannedRun(number: number, { ctx }: Site): string | undefined {
  const id = `run${number}`;
  return number === 0 || id === ctx.info.id ? undefined : id;
}

async function answered(sent: Promise<void>, text: string): Promise<string> {
  try {
    await sent;
    return text;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return errorText(error);
  }
}
