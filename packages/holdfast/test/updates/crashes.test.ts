import { expect, test } from "vitest";
import { update, workflow } from "../../src/index.ts";
import type { StoreMethod } from "../../src/ports/store-calls.ts";
import { crashEverywhere } from "../../src/testing/index.ts";
import { Cluster, faultsInStore, outcomeUnknown, type StoreHook } from "../lab/harness.ts";

const add = update<number, number>("add");
const stop = update<undefined, string>("stop");

const ledger = workflow("ledger", async (ctx) => {
  let sum = 0;
  let stopped = false;
  ctx.on(add, {
    validate: (n) => {
      if (n > 100) throw new Error("too much");
    },
    handle: async (n) => {
      sum += n;
      const seen = sum;
      await ctx.step("book", () => n);
      return seen;
    },
  });
  ctx.on(stop, () => {
    stopped = true;
    return "bye";
  });
  await ctx.until(() => stopped);
  await ctx.step("report", () => sum);
  return sum;
});

/** Sends a conversation whose every answer is known, from a process of its own. */
async function converse(cluster: Cluster, hook?: StoreHook): Promise<unknown[]> {
  const caller = cluster.process("caller", hook);
  const run = caller.client.get(ledger, "l");
  const answers: unknown[] = [];
  answers.push(await run.update(add, 1, { id: "a" }));
  answers.push(await run.update(add, 200, { id: "b" }).catch((error: { code?: string }) => error.code));
  answers.push(...(await Promise.all([run.update(add, 2, { id: "c" }), run.update(add, 4, { id: "d" })])));
  answers.push(await run.update(stop, undefined, { id: "e" }));
  answers.push(await run.result());
  return answers;
}

const EXPECTED = [1, "update_rejected", 3, 7, "bye", 7];

/** What is in the store when an answer reaches its caller is enough to give it again. */
async function answersAgain(cluster: Cluster): Promise<unknown[]> {
  const run = cluster.process("later").client.get(ledger, "l");
  const again = (id: string): Promise<unknown> => {
    const repeated = id === "e" ? run.update(stop, undefined, { id }) : run.update(add, 999, { id });
    return repeated.catch((error: { code?: string }) => error.code);
  };
  return Promise.all(["a", "b", "c", "d", "e"].map(again));
}

interface Death {
  readonly call: number;
  readonly moment: "before" | "after";
}

async function withDeath(death: Death | undefined): Promise<{ calls: number; answers: unknown[]; faults: string[] }> {
  const cluster = new Cluster();
  let calls = 0;
  let armed = false;
  const dying = cluster.process("dying", async (method, _params, next) => {
    if (!armed || method.startsWith("workers.")) return next();
    calls += 1;
    if (death?.call === calls && death.moment === "before") dying.kill();
    const answer = next();
    if (death?.call === calls && death.moment === "after") {
      await answer.catch(() => {});
      dying.kill();
    }
    return answer;
  });
  await dying.worker({ workflows: [ledger] });
  await cluster.until(dying.client.start(ledger, undefined, { id: "l" }));
  armed = true;
  if (death) await cluster.process("heir").worker({ workflows: [ledger] });
  const answers = await cluster.until(converse(cluster));
  const again = await cluster.until(answersAgain(cluster));
  const faults = [...faultsInStore(cluster.store), ...cluster.errors];
  if (JSON.stringify(again) !== JSON.stringify([1, "update_rejected", 3, 7, "bye"])) faults.push(JSON.stringify(again));
  return { calls, answers, faults };
}

test("updates are answered once and alike, whenever the worker that holds the run dies", async () => {
  const { calls, answers, faults } = await withDeath(undefined);
  expect({ answers, faults }).toEqual({ answers: EXPECTED, faults: [] });
  expect(calls).toBeGreaterThan(5);
  for (let call = 1; call <= calls + 2; call++)
    for (const moment of ["before", "after"] as const) {
      const died = await withDeath({ call, moment });
      expect({ call, moment, answers: died.answers, faults: died.faults }).toEqual({
        call,
        moment,
        answers: EXPECTED,
        faults: [],
      });
    }
}, 60_000);

const CALLS: readonly StoreMethod[] = ["runs.commit", "runs.claim", "inbox.deliver", "inbox.read", "inbox.replies"];

test.each(CALLS)("updates are answered once and alike although answers to %s are lost", async (lost) => {
  const cluster = new Cluster();
  const losing = (): StoreHook => {
    let n = 0;
    return async (method, _params, next) => {
      const answer = await next();
      if (method === lost && ++n % 2 === 1) throw outcomeUnknown();
      return answer;
    };
  };
  const process = cluster.process("p", losing());
  await process.worker({ workflows: [ledger] });
  await cluster.until(process.client.start(ledger, undefined, { id: "l" }));
  expect(await cluster.until(converse(cluster, losing()))).toEqual(EXPECTED);
  expect(faultsInStore(cluster.store)).toEqual([]);
});

test("updates are answered although every hint is lost", async () => {
  const cluster = new Cluster();
  cluster.hints.loses = () => true;
  const process = cluster.process("p");
  await process.worker({ workflows: [ledger] });
  await cluster.until(process.client.start(ledger, undefined, { id: "l" }));
  expect(await cluster.until(converse(cluster))).toEqual(EXPECTED);
});

test("no answer leaves before the commit that has it", async () => {
  const cluster = new Cluster();
  let answered = false;
  let checked = 0;
  const early: string[] = [];
  const process = cluster.process("p", async (method, params, next) => {
    const { commits = [] } = params as { commits?: readonly { events: readonly { type: string }[] }[] };
    const completes = commits.some(({ events }) => events.some(({ type }) => type === "update_completed"));
    if (method !== "runs.commit" || !completes) return next();
    await cluster.wait(1_000);
    checked += 1;
    if (answered) early.push("before the call");
    const answer = await next();
    if (answered) early.push("before the answer");
    return answer;
  });
  await process.worker({ workflows: [ledger] });
  const run = await cluster.until(process.client.start(ledger, undefined, { id: "l" }));
  await cluster.until(run.update(stop).then(() => (answered = true)));
  await cluster.until(cluster.wait(5_000));
  expect({ answered, early, checked }).toEqual({ answered: true, early: [], checked: 1 });
});

test("a workflow with updates survives the death of its worker at every commit", async () => {
  const answers: unknown[] = [];
  const report = await crashEverywhere(ledger, undefined, {
    whenWaiting: async (client, id) => {
      const run = client.get(ledger, id);
      const first = await run.update(add, 1, { id: "a" });
      const rejected = await run.update(add, 200, { id: "b" }).catch((error: { code?: string }) => error.code);
      answers.push([first, rejected, await run.update(stop, undefined, { id: "e" })]);
    },
  });
  expect(report.output).toBe(1);
  expect(report.crashes).toBeGreaterThan(6);
  expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(new Set(['[1,"update_rejected","bye"]']));
});
