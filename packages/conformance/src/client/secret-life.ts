import { type Client, query, signal, task, update, workflow } from "holdfast";
import { gate } from "./gate.ts";

/** In every value of the run. */
export const SECRET = "sesame-of-the-forty";
/** In what no codec sees, which is how the search is known to find anything: an attribute, and the text of an error. */
export const IN_PLAIN_SIGHT = ["attribute-for-everyone", "error-for-everyone"] as const;

const [ATTRIBUTE, ERROR] = IN_PLAIN_SIGHT;
const word = signal<string>("word");
const ask = query<string, string>("ask");
const tell = update<string, string>("tell");

/**
 * A run that gives a value to the store in every way there is. `worker` and `asker` are two clients of one store; `inspect` is
 * called while everything is in progress, and when it is over.
 */
export async function liveInSecret(worker: Client, asker: Client, inspect: () => Promise<void>): Promise<void> {
  const begun = gate();
  const end = gate();
  const job = task("job", async (input: string, t) => {
    await t.heartbeat({ details: `${input} ${SECRET}` });
    begun.open();
    await end.opened;
    return `${SECRET} from a task`;
  });
  const fails = task({ name: "fails", retry: { attempts: 1 } }, () => {
    throw new Error(ERROR);
  });
  const child = workflow("child", async (_ctx, input: string) => `${input} ${SECRET} from a child`);
  const main = workflow("main", async (ctx, input: { round: number; text: string }): Promise<unknown> => {
    ctx.on(ask, (text) => `${SECRET} ${text}`);
    ctx.on(tell, (text) => `${SECRET} ${text}`);
    ctx.set({ for: ATTRIBUTE });
    if (input.round === 2) return { output: SECRET };
    const side = ctx.sideEffect("side", () => SECRET);
    await ctx.step("step", () => [side, SECRET]);
    await ctx.child(child, SECRET);
    await ctx.task(fails, SECRET).catch(() => {});
    await ctx.task(job, SECRET);
    await ctx.receive(word);
    return ctx.continueAsNew({ round: 2, text: SECRET });
  });
  await worker.worker({ workflows: [main, child], tasks: [job, fails] }).start();
  const run = await asker.start(main, { round: 1, text: SECRET });
  await begun.opened;
  await run.update(tell, SECRET);
  await run.query(ask, SECRET);
  await run.signal(word, SECRET);
  await inspect();
  end.open();
  await run.result();
  await inspect();
}
