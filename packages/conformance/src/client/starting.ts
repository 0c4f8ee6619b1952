import { isHoldfastError, type RunHandle, signal, workflow } from "holdfast";
import { expect } from "vitest";
import { refusalOf } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";

const ping = signal<string>("ping");
const alpha = workflow("alpha", async (_ctx, input: number) => ({ alpha: input }));
const beta = workflow("beta", async (_ctx, input: number) => ({ beta: input }));
const typed = workflow(
  { name: "typed", input: { "~standard": { version: 1, vendor: "test", validate: validateNumber } } },
  async () => {},
);

function validateNumber(value: unknown) {
  return typeof value === "number" ? { value } : { issues: [{ message: "not a number" }] };
}

export const starting: ClientSuite = {
  noun: "that starts runs",
  cases: {
    "says whether a start has created the run": async (t) => {
      const client = await t.connect();
      const first = await client.start(alpha, 1, { id: "one" });
      const again = await client.start(alpha, 2, { id: "one" });
      expect([first.created, again.created]).toEqual([true, false]);
      expect(again.runId).toBe(first.runId);
      expect((await client.start(alpha, 3, { id: "one", ifRunning: "replace" })).created).toBe(true);
      const [fresh, found] = await client.startMany([
        { workflow: alpha, input: 1, options: { id: "two" } },
        { workflow: alpha, input: 1, options: { id: "one" } },
      ]);
      expect([fresh?.created, found?.created]).toEqual([true, false]);
      expect(client.get("one").created).toBe(false);
    },

    "does not call the code of a run whose timeout is over before it may begin": async (t) => {
      let calls = 0;
      const late = workflow("late", async () => ++calls);
      const client = await t.connect();
      const run = await client.start(late, undefined, { id: "late", timeout: "20ms" });
      const { createdAt } = await run.describe();
      // Until 20 ms have passed by the clock of the store.
      for (let nowMs = 0; nowMs < createdAt.getTime() + 20; ) {
        const probe = await client.start("nobody's");
        nowMs = (await probe.describe()).createdAt.getTime();
      }
      const worker = client.worker({ workflows: [late] });
      await worker.start();
      expect(await refusalOf(() => run.result())).toMatchObject({ code: "run_timed_out" });
      expect(await run.describe()).toMatchObject({ status: "timed_out", compensation: null });
      expect(calls).toBe(0);
      await worker.stop();
    },

    "starts none of many when one of them is not valid, and says which": async (t) => {
      const client = await t.connect();
      const good = { workflow: alpha, input: 1 };
      const bad: [object | undefined, string, string][] = [
        [{ workflow: "", input: 1 }, "invalid_name", 'request 1: The workflow name "" is empty.'],
        [{ workflow: alpha, input: () => 1 }, "unserializable_value", "request 1: "],
        [{ workflow: alpha, input: 1, options: { id: "" } }, "invalid_name", 'request 1: The run id "" is empty.'],
        [{ workflow: alpha, input: 1, optoins: {} }, "invalid_option", "Did you mean `options`?"],
        [{ workflow: typed, input: "x" }, "invalid_input", "request 1: The input of workflow"],
        [undefined, "invalid_option", "request 1: the request is undefined, not an object."],
      ];
      for (const [request, code, message] of bad) {
        const error = await refusalOf(() => client.startMany([good, request as never, good]));
        expect(error, message).toMatchObject({ code, data: { index: 1 }, message: expect.stringContaining(message) });
        expect((error as Error).message).toContain("Nothing was started.");
      }
      expect(await client.count()).toBe(0);
    },

    "says what became of each when the store refuses some of many": async (t) => {
      const client = await t.connect();
      const taken = await client.start(alpha, 1, { id: "taken" });
      const ofBeta = await client.start(beta, 1, { id: "beta" });
      const error = await refusalOf(() =>
        client.startMany([
          { workflow: alpha, input: 1, options: { id: "new" } },
          { workflow: alpha, input: 1, options: { id: "taken", ifRunning: "fail" } },
          { workflow: alpha, input: 1, options: { id: "taken" } },
          { workflow: alpha, input: 1, options: { id: "beta" } },
        ]),
      );
      const { runId } = await client.get("new").describe();
      expect(error).toMatchObject({
        code: "start_many_incomplete",
        cause: { code: "run_already_exists" },
        message: expect.stringContaining("2 of 4 requests were refused; the others are stored. request 1: "),
        data: {
          outcomes: [
            { outcome: "created", id: "new", runId },
            { outcome: "refused", id: "taken", code: "run_already_exists" },
            { outcome: "returned", id: "taken", runId: taken.runId },
            { outcome: "refused", id: "beta", code: "run_already_exists" },
          ],
        },
      });
      expect(await ofBeta.status()).toBe("pending");
    },

    "refuses every call on a run of another workflow than the handle is for": async (t) => {
      const client = await t.connect();
      await client.worker({ workflows: [alpha] }).start();
      expect(await client.run(alpha, 7, { id: "a" })).toEqual({ alpha: 7 });
      const calls: Record<string, (run: RunHandle<unknown>) => Promise<unknown>> = {
        describe: (run) => run.describe(),
        status: (run) => run.status(),
        result: (run) => run.result(),
        "result with a timeout": (run) => run.result({ timeout: "1h" }),
        history: (run) => run.history(),
        steps: (run) => run.steps(),
        signal: (run) => run.signal(ping, "x"),
        cancel: (run) => run.cancel(),
        terminate: (run) => run.terminate(),
        retry: (run) => run.retry(),
        resume: (run) => run.resume(),
      };
      const others: string[] = [];
      for (const [name, call] of Object.entries(calls)) {
        const error = await refusalOf(() => call(client.get(beta, "a")));
        if (!isHoldfastError(error, "workflow_mismatch")) others.push(`${name}: ${String(error)}`);
      }
      expect(others).toEqual([]);
      expect(await refusalOf(() => client.get(beta, "a").result())).toMatchObject({
        message: 'Run "a" belongs to workflow "alpha", not "beta". Correct the id, or use get(id).',
        data: { id: "a", workflow: "alpha", expected: "beta" },
      });
      expect(await client.get(alpha, "a").result()).toEqual({ alpha: 7 });
      expect(await client.get("a").result()).toEqual({ alpha: 7 });
    },
  },
};
