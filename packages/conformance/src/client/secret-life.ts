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

/** Clients of one store. */
export interface SecretClients {
  readonly worker: Client;
  /** Another one of the same namespace, which has no worker. */
  readonly asker: Client;
  /** One of another namespace. */
  readonly theirs: Client;
}

/**
 * Runs that give a value to the store in every way there is. `inspect` is called while everything is in progress, and when it is
 * over.
 */
export async function liveInSecret(
  { worker, asker, theirs }: SecretClients,
  inspect: () => Promise<void>,
): Promise<void> {
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
  const broken = workflow("broken", async (_ctx, _input: string): Promise<void> => {
    throw new Error(ERROR);
  });
  /** Takes a signal and an update from another run, or from outside. */
  const listener = workflow("listener", async (ctx, input: string) => {
    let told = "";
    ctx.on(tell, (text) => {
      told = text;
      return `${SECRET} ${text}`;
    });
    const heard = await ctx.receive(word);
    await ctx.until(() => told !== "");
    return [input, heard, told, SECRET];
  });
  const there = { namespace: theirs.namespace, id: "there" };
  const main = workflow("main", async (ctx, input: { round: number; text: string }): Promise<unknown> => {
    ctx.on(ask, (text) => `${SECRET} ${text}`);
    ctx.on(tell, (text) => `${SECRET} ${text}`);
    ctx.set({ for: ATTRIBUTE });
    if (input.round === 2) return { output: SECRET };
    const side = ctx.sideEffect("side", () => SECRET);
    await ctx.step("step", () => [side, SECRET]);
    await ctx.child(child, SECRET);
    await ctx.child(broken, SECRET).catch(() => {});
    const other = await ctx.startChild(listener, SECRET);
    await other.signal(word, SECRET);
    await other.update(tell, SECRET);
    await ctx.resultOf(listener, other.id);
    await ctx.signal(there, word, SECRET);
    await ctx.resultOf(listener, there);
    await ctx.step("starts", async (s) => void (await s.start(child, SECRET)));
    await ctx.task(fails, SECRET).catch(() => {});
    await ctx.task(job, SECRET);
    await ctx.receive(word);
    return ctx.continueAsNew({ round: 2, text: SECRET });
  });
  await theirs.namespaces.allow(worker.namespace);
  await theirs.worker({ workflows: [listener] }).start();
  await theirs.updateWithStart(listener, SECRET, tell, SECRET, { id: there.id });
  await worker.worker({ workflows: [main, child, broken, listener], tasks: [job, fails] }).start();
  const run = await asker.start(main, { round: 1, text: SECRET });
  await begun.opened;
  await run.update(tell, SECRET);
  await run.query(ask, SECRET);
  await run.signal(word, SECRET);
  const { run: second } = await asker.updateWithStart(listener, SECRET, tell, SECRET, { id: "second" });
  await asker.signalWithStart(listener, SECRET, word, SECRET, { id: "second" });
  await second.result();
  await inspect();
  end.open();
  await run.result();
  await inspect();
}
