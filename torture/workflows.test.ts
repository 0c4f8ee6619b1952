import { type Client, isHoldfastError, type RunHandle } from "holdfast";
import { type TestEngine, testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { ALL_TASKS } from "./task-workloads.ts";
import { WORKLOADS } from "./workflows.ts";
import { nudge, type PlannedAnswer } from "./workload.ts";

test.each(WORKLOADS)("$name ends, undisturbed, as the judge will expect it to", async (workload) => {
  const { definition, signals, cancelAfterMs, answers, repaired, end } = workload;
  const t = await testEngine({ workflows: [definition], tasks: ALL_TASKS });
  for (let n = 0; n < 12; n++) {
    const run = await t.client.start(definition, n, { id: `run-${n}` });
    for (const sent of signals?.(n) ?? []) await run.signal(nudge, sent, { id: sent.token });
    if (cancelAfterMs) await run.cancel("as planned");
    for (const planned of answers?.(n) ?? []) await answer(t, run, planned);
    if (repaired) await takeUp(t.client, run);
    const output = await outputOf(run);
    const { status, compensation } = await t.client.get(`run-${n}`).describe();
    const expected = end(n);
    expect({ status, output }).toEqual({ status: expected.status, output: expected.output });
    expect(expected.compensation ?? [null]).toContain(compensation);
  }
  await t.close();
});

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
