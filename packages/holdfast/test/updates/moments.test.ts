import { expect, test } from "vitest";
import { type AnyWorkflow, query, signal, update, workflow } from "../../src/index.ts";
import { deliverMessages } from "../../src/memory/inbox.ts";
import { updateMessageId } from "../../src/model/ids.ts";
import { Cluster, faultsInStore } from "../lab/harness.ts";

const add = update<number, number>("add");
const word = signal<string>("word");
const sumOf = query<number>("sum");

/** Ends while it waits for a signal: its last turns may be taken back. */
const racing = workflow("racing", async (ctx) => {
  let sum = 0;
  let heard: string | undefined;
  ctx.on(sumOf, () => sum);
  ctx.on(add, async (n) => {
    sum += n;
    const seen = sum;
    await ctx.step("book", () => n);
    return seen;
  });
  const listening = ctx.receive(word, { timeout: "1h" }).then((text) => {
    heard = text;
  });
  for (let i = 0; i < 3; i++) await ctx.step("work", () => i);
  if (heard !== undefined) await ctx.step("answer", () => heard);
  void listening;
  return [sum, heard ?? null];
});

/** Is suspended between its steps. */
const sleeping = workflow("sleeping", async (ctx) => {
  let sum = 0;
  ctx.on(add, (n) => {
    sum += n;
    return sum;
  });
  await ctx.sleep("first", "1m");
  await ctx.step("work", () => 1);
  await ctx.sleep("second", "1m");
  return [sum, null];
});

interface Told {
  readonly moments: number;
  readonly output: unknown;
  readonly answers: readonly unknown[];
  readonly faults: readonly string[];
}

/** Two updates and a signal reach the run at exact moments: before or after a call of the store takes effect. */
async function observe(definition: AnyWorkflow, at: readonly number[], signalAt: number): Promise<Told> {
  const cluster = new Cluster();
  const process = cluster.process("p");
  const caller = cluster.process("caller");
  await process.worker({ workflows: [definition], cacheSize: at[0] === at[1] ? 0 : 100 });
  await cluster.clock.settle();
  let moments = 0;
  const send = (kind: "update" | "signal", name: string, messageId: string, value: unknown): void => {
    const { state } = cluster.store;
    const to = { namespace: "default", runId: cluster.runOf("r").runId };
    const payload = Buffer.from(JSON.stringify(value));
    deliverMessages(state, { messages: [{ to, kind, name, messageId, payload }], inboxMax: 100 }, cluster.clock.now());
    cluster.hints.publish(state.hints.splice(0));
  };
  cluster.store.fault = (_moment, method) => {
    if (method !== "runs.commit" && method !== "inbox.read") return undefined;
    moments += 1;
    at.forEach((moment, i) => {
      if (moment === moments) send("update", "add", updateMessageId(`u${i}`), 10 ** i);
    });
    if (signalAt === moments) send("signal", "word", "s", "hi");
    return undefined;
  };
  const run = await cluster.until(process.client.start(definition.name, undefined, { id: "r" }));
  const output = await cluster.until(run.result());
  cluster.store.fault = undefined;
  const handle = caller.client.get("r");
  const answer = (i: number): Promise<unknown> =>
    handle.update(add, 0, { id: `u${i}` }).catch((error: { code: string }) => error.code);
  const answers = await cluster.until(Promise.all(at.map((_, i) => answer(i))));
  return { moments, output, answers, faults: [...faultsInStore(cluster.store), ...cluster.errors] };
}

test.each([racing, sleeping])(
  "whenever updates come to a run of $name, their answers agree with what the run has seen",
  async (definition) => {
    const { moments } = await observe(definition, [0, 0], 0);
    expect(moments).toBeGreaterThan(3);
    const wrong: string[] = [];
    for (let first = 1; first <= moments + 1; first++)
      for (const second of [first, first + 1, first + 3])
        for (const signalAt of [0, first, first + 1, moments]) {
          const { output, answers, faults } = await observe(definition, [first, second], signalAt);
          const [sum] = output as [number, unknown];
          // What was answered with a sum is in the output; what was refused is not. One that the end of the run cut off may be.
          const accepted = answers.map((answer) => typeof answer === "number");
          const least = (accepted[0] ? 1 : 0) + (accepted[1] ? 10 : 0);
          const cut = answers.map((answer) => answer === "run_closed");
          const most = least + (cut[0] ? 1 : 0) + (cut[1] ? 10 : 0);
          const allowed = [least, least + (cut[0] ? 1 : 0), least + (cut[1] ? 10 : 0), most];
          const fine = allowed.includes(sum) && faults.length === 0;
          if (!fine) wrong.push(JSON.stringify({ first, second, signalAt, answers, output, faults }));
        }
    expect(wrong).toEqual([]);
  },
  120_000,
);
