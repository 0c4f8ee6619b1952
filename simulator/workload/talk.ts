import { query, update } from "../../packages/holdfast/src/define/conversations.ts";
import type { Context } from "../../packages/holdfast/src/replay/context/context.ts";
import type { Dice } from "../dice.ts";
import type { Site } from "./program.ts";

/** What a handler of an update does before it answers. */
export const MANNERS = ["plain", "step", "sleep", "wait", "throw", "refuse", "early"] as const;

export type Manner = (typeof MANNERS)[number];

export interface Request {
  /** No other update has it; but a fork repeats what its origin was asking another run at the cut. */
  readonly id: string;
  readonly how: Manner;
}

/** What a query says about a run. */
export interface Sketch {
  readonly runId: string;
  /** How many events its code had seen. */
  readonly at: number;
  /** Updates that have begun (+) and ended (-), in order. */
  readonly log: readonly string[];
}

export const ADD = update<Request, string>("add");
export const SKETCH = query<Sketch>("sketch");
/** Tries to change something. */
export const MEDDLE = query<string>("meddle");
export const MEDDLED = "meddled";

/** What the code of one run has been told so far. */
export class Talk {
  begun = 0;
  readonly log: string[] = [];
}

export function drawManner(dice: Dice): Manner {
  return dice.pick(MANNERS);
}

/** Every generated workflow that talks answers these. */
export function register(ctx: Context, site: Site): void {
  const { talk } = site;
  ctx.on(ADD, {
    validate: ({ id, how }) => {
      if (how === "refuse") throw new Error(`${id} is refused`);
      if (how === "early" && talk.begun > 1) throw new Error(`${id} comes too late`);
    },
    handle: (request) => handle(request, site),
  });
  ctx.on(SKETCH, () => ({ runId: ctx.info.runId, at: ctx.info.historyLength, log: [...talk.log] }));
  ctx.on(MEDDLE, () => String(ctx.step(MEDDLED, () => "done")));
}

async function handle({ id, how }: Request, site: Site): Promise<string> {
  const { talk, ctx } = site;
  talk.begun += 1;
  const number = talk.begun;
  const same = talk.log.filter((entry) => entry === `+${id}`).length;
  talk.log.push(`+${id}`);
  try {
    if (how === "step") await work(same === 0 ? id : `${id}~${same + 1}`, site);
    if (how === "sleep") await ctx.sleep(`z-${id}`, "400ms");
    if (how === "wait") await ctx.until(() => talk.begun > number, { timeout: "1s" });
    if (how === "throw") {
      await ctx.sleep(`z-${id}`, "50ms");
      throw new Error(`${id} is thrown`);
    }
    return `${id} was number ${number}`;
  } finally {
    talk.log.push(`-${id}`);
  }
}

/** The op of the step that handles an update. */
export function workOf(id: string): string {
  return `v-${id}`;
}

function work(id: string, site: Site): Promise<string> {
  const { ctx, stage } = site;
  const { runId, historyLength } = ctx.info;
  const plan = { op: workOf(id), ms: 60, failures: 0 };
  return ctx.step(plan.op, (info) => stage.perform(runId, plan, info, { seq: historyLength, sights: [] }));
}
