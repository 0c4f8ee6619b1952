// The part of OpenWorkflow that is the same on both stores.
export const CONCURRENCY = 100;

/**
 * Polls (100 ms to 1 s), lease (30 s), result poll (1 s) and the maximum of steps per run (1,000) are fixed in the
 * package.
 */
export const FIXED = "polls of 100 ms to 1 s, lease of 30 s and result poll of 1 s are fixed";

export const WORKLOADS = ["ten", "short", "parallel", "latency", "long", "recover", "signals", "sleepers", "children"];

export const SIZES = {
  parallel: { width: 900 },
  latency: { times: 8 },
  long: { steps: 900 },
  children: { children: 450, times: 8 },
};

export async function openOn(backend, hooks, open) {
  const { OpenWorkflow } = await import("openworkflow");
  const ow = new OpenWorkflow({ backend });
  const workflows = define(ow, hooks);
  const worker = ow.newWorker({ concurrency: CONCURRENCY });
  await worker.start();
  return {
    async start(kind, id, arg) {
      const handle = await workflows[kind].run({ id, arg });
      return { result: () => handle.result() };
    },
    signal: (id) => ow.sendSignal({ signal: `go:${id}`, data: { ok: true } }),
    pending: open.count,
    leaseLeftMs: async () => Math.max(0, await open.leaseLeftMs()),
    async close() {
      await open.end();
      await worker.stop();
      await backend.stop();
    },
  };
}

function define(ow, hooks) {
  const leaf = ow.defineWorkflow({ name: "leaf" }, async ({ input: { id, i } }) => hooks.step(id, i));
  const bodies = {
    async family({ input: { id, arg }, step }) {
      const one = (i) => step.runWorkflow(leaf.workflow.spec, { id, i }, { name: `c${i}` });
      await Promise.all(Array.from({ length: arg }, (_, i) => one(i)));
      hooks.finished(id);
      return arg;
    },
    async seq({ input: { id, arg }, step }) {
      for (let i = 1; i <= arg; i++) await step.run({ name: `s${i}` }, async () => hooks.step(id, i));
      hooks.finished(id);
      return arg;
    },
    async fan({ input: { id, arg }, step }) {
      const one = (i) => step.run({ name: `s${i}` }, async () => hooks.step(id, i));
      await Promise.all(Array.from({ length: arg }, (_, i) => one(i)));
      hooks.finished(id);
      return arg;
    },
    async sleep({ input: { id, arg }, step }) {
      hooks.asleep(id);
      await step.sleep("nap", `${arg}ms`);
      hooks.finished(id);
    },
    async wait({ input: { id }, step }) {
      hooks.waiting(id);
      const message = await step.waitForSignal({ signal: `go:${id}` });
      hooks.finished(id);
      return message;
    },
  };
  return Object.fromEntries(Object.entries(bodies).map(([name, body]) => [name, ow.defineWorkflow({ name }, body)]));
}
