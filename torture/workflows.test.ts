import { isHoldfastError } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { nudge, WORKLOADS } from "./workflows.ts";

test.each(WORKLOADS)("$name ends, undisturbed, as the judge will expect it to", async (workload) => {
  const { definition, signals, cancelAfterMs, end } = workload;
  const t = await testEngine({ workflows: [definition] });
  for (let n = 0; n < 12; n++) {
    const run = await t.client.start(definition, n, { id: `run-${n}` });
    for (const sent of signals?.(n) ?? []) await run.signal(nudge, sent, { id: sent.token });
    if (cancelAfterMs) await run.cancel("as planned");
    const output = await run.result().catch((error: unknown) => {
      if (!isHoldfastError(error)) throw error;
      return undefined;
    });
    const { status, compensation } = await t.client.get(`run-${n}`).describe();
    const expected = end(n);
    expect({ status, output }).toEqual({ status: expected.status, output: expected.output });
    expect(expected.compensation ?? [null]).toContain(compensation);
  }
  await t.close();
});
