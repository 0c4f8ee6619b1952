import { type Client, isHoldfastError, type RunHandle } from "holdfast";
import { type TestEngine, testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { say } from "./say.ts";
import { ALL_TASKS } from "./task-workloads.ts";
import { ALL_DEFINITIONS, WORKLOADS } from "./workflows.ts";
import { type Member, nudge, type PlannedAnswer, type Workload } from "./workload.ts";

test.each(WORKLOADS)("$name ends, undisturbed, as the judge will expect it to", async (workload) => {
  const { definition, signals, cancelAfterMs, terminateAfterMs, answers, repaired, end } = workload;
  const t = await testEngine({ workflows: ALL_DEFINITIONS, tasks: ALL_TASKS, onForgotten: "warn" });
  for (let n = 0; n < 12; n++) {
    const id = `run-${n}`;
    const started = workload.begunBySaying ? undefined : await t.client.start(definition, n, { id });
    await talk(t.client, workload, n, id);
    const run = started ?? t.client.get(definition, id);
    for (const sent of signals?.(n) ?? []) await run.signal(nudge, sent, { id: sent.token });
    if (cancelAfterMs) await run.cancel("as planned");
    if (terminateAfterMs) {
      await t.clock.settle();
      await run.terminate("as planned");
    }
    for (const planned of answers?.(n) ?? []) await answer(t, run, planned);
    if (repaired) await takeUp(t.client, run);
    const output = await outputOf(run);
    await t.clock.advance("10s");
    await expectEnd(t.client, { id, expected: end(n) }, output);
    for (const member of workload.members?.(n, id) ?? []) await expectEnd(t.client, member);
    expect(await t.store.debts.read({ limit: 10 })).toEqual([]);
  }
  await t.close();
});

async function expectEnd(client: Client, { id, expected, optional }: Member, output?: unknown): Promise<void> {
  const run = client.get(id);
  if (optional && (await client.count({ id })) === 0) return;
  const returned = output ?? (await outputOf(run));
  const { status, compensation } = await run.describe();
  const value = (returned as { value?: unknown } | undefined)?.value ?? returned;
  expect({ id, status, output: value }).toEqual({ id, status: expected.status, output: expected.output });
  expect(expected.compensation ?? [null]).toContain(compensation);
}

async function talk(client: Client, { definition, says }: Workload, n: number, id: string): Promise<void> {
  const lists = says?.(n) ?? [];
  const tellAll = async (list: (typeof lists)[number]): Promise<void> => {
    for (const one of list) await say(client, { ...one, workflow: definition.name, id, input: n });
  };
  await Promise.all(lists.map(tellAll));
}

async function outputOf(run: RunHandle): Promise<unknown> {
  return run.result().catch((error: unknown) => {
    if (!isHoldfastError(error)) throw error;
    return undefined;
  });
}

async function answer(t: TestEngine, { runId }: RunHandle, { type, value }: PlannedAnswer): Promise<void> {
  const { tasks } = t.client;
  let token: string | undefined;
  while (token === undefined) {
    await t.clock.advance("100ms");
    token = (await tasks.list({ runId, status: "external" })).tasks[0]?.token;
  }
  if (type === "fail") await tasks.fail(token, new Error(value));
  else await tasks.complete(token, { value, token: "answer" });
}

async function takeUp({ tasks }: Client, run: RunHandle): Promise<void> {
  expect(await outputOf(run)).toBeUndefined();
  const [dead] = (await tasks.list({ runId: run.runId, status: "dead" })).tasks;
  await tasks.retry(dead?.token as string);
}
