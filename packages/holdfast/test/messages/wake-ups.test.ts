import { describe, expect, test } from "vitest";
import { type AnyWorkflow, signal, workflow } from "../../src/define/definitions.ts";
import type { Worker } from "../../src/engine/worker/worker.ts";
import { deliverMessages } from "../../src/memory/inbox.ts";
import type { MessageKind } from "../../src/model/message.ts";
import { CLAIM_FALLBACK_MS, Cluster, faultsInStore, HEARTBEAT_MS, type Process, Valve } from "../lab/harness.ts";

const word = signal<string>("word");
const TEXT = Buffer.from(JSON.stringify("hello"));

interface Scenario {
  readonly definition: AnyWorkflow;
  readonly cacheSize: number;
  readonly losesHints: boolean;
  /** The message arrives at this moment: before or after the n-th call of the store takes effect. Later: when all is quiet. */
  readonly moment: number;
  readonly kind?: MessageKind;
}

interface Observed {
  readonly output: unknown;
  readonly lateMs: number;
  /** How many moments there were before all was quiet. */
  readonly moments: number;
  readonly faults: readonly string[];
}

/** Runs a workflow to which one message is delivered at an exact moment. */
async function observe(scenario: Scenario): Promise<Observed> {
  const cluster = new Cluster();
  if (scenario.losesHints) cluster.hints.loses = () => true;
  const process = cluster.process("p");
  await process.worker({ workflows: [scenario.definition], cacheSize: scenario.cacheSize });
  await cluster.clock.settle();
  let moments = 0;
  let sentMs: number | undefined;
  const send = (): void => {
    sentMs = cluster.clock.monotonic();
    deliverNow(cluster, "r", scenario.kind ?? "signal");
  };
  cluster.store.fault = (_moment, method) => {
    // Nothing can be sent to the run before it exists.
    if (method !== "runs.start" && ++moments === scenario.moment) send();
    return undefined;
  };
  const run = await cluster.until(process.client.start(scenario.definition.name, undefined, { id: "r" }));
  await cluster.clock.settle();
  if (sentMs === undefined) send();
  const output = await cluster.until(run.result(), "1 minute").catch((error: { code?: string }) => error.code);
  const endedMs = (cluster.runOf("r").endedAt ?? 0) - cluster.clock.now() + cluster.clock.monotonic();
  const faults = [...faultsInStore(cluster.store), ...cluster.repeated()];
  return { output, lateMs: endedMs - (sentMs ?? 0), moments, faults };
}

/** Atomically, between two macrotasks: as if another process's call took effect right now. */
function deliverNow(cluster: Cluster, id: string, kind: MessageKind): void {
  const { state } = cluster.store;
  const to = { namespace: "default", runId: cluster.runOf(id).runId };
  const message = { to, kind, name: kind === "signal" ? "word" : "", messageId: `m-${kind}`, payload: TEXT };
  deliverMessages(state, { messages: [message], inboxMax: 100 }, cluster.clock.now());
  cluster.hints.publish(state.hints.splice(0));
}

const listen = workflow("listen", async (ctx) => {
  const before = await ctx.step("before", () => 1);
  const heard = await ctx.receive(word);
  return [before, heard, await ctx.step("after", () => 2)];
});
const patient = workflow("patient", async (ctx) => {
  const heard = await ctx.receive(word, { timeout: "1 day" });
  return [1, heard, 2];
});
const SETTINGS = [0, 100].flatMap((cacheSize) => [false, true].map((losesHints) => ({ cacheSize, losesHints })));

describe.each([listen, patient])("a message to a run of $name, which suspends", (definition) => {
  test.each(SETTINGS)("is received once and promptly, whenever it comes: %o", async ({ cacheSize, losesHints }) => {
    // If the hints are lost, the claimer finds a run that is not held at its next look.
    const promptMs = losesHints ? CLAIM_FALLBACK_MS : 0;
    const { moments } = await observe({ definition, cacheSize, losesHints, moment: Number.POSITIVE_INFINITY });
    expect(moments).toBeGreaterThan(2);
    for (let moment = 1; moment <= moments + 1; moment++) {
      const { output, lateMs, faults } = await observe({ definition, cacheSize, losesHints, moment });
      expect([moment, output, faults]).toEqual([moment, [1, "hello", 2], []]);
      expect(lateMs).toBeLessThanOrEqual(promptMs);
    }
  });

  test.each(SETTINGS)("cancels it, whenever it comes: %o", async ({ cacheSize, losesHints }) => {
    const promptMs = losesHints ? CLAIM_FALLBACK_MS : 0;
    for (let moment = 1; moment <= 8; moment++) {
      const cancel = { definition, cacheSize, losesHints, moment, kind: "cancel" as const };
      const { output, lateMs, faults } = await observe(cancel);
      expect([moment, output, faults]).toEqual([moment, "run_canceled", []]);
      expect(lateMs).toBeLessThanOrEqual(promptMs);
    }
  });
});

describe("a message to a run that is held, because a step of it runs", () => {
  test.each(SETTINGS)("is received once and promptly, whenever it comes: %o", async ({ cacheSize, losesHints }) => {
    const promptMs = losesHints ? HEARTBEAT_MS : 0;
    for (let moment = 1; moment <= 8; moment++) {
      // The step never ends by itself: only the message can end the race.
      const racing = workflow("racing", async (ctx) => {
        const { value } = await ctx.race({
          heard: (branch) => branch.receive(word),
          worked: (branch) => branch.step("work", () => new Promise<string>(() => {})),
        });
        return value;
      });
      const { output, lateMs, faults } = await observe({ definition: racing, cacheSize, losesHints, moment });
      expect([moment, output, faults]).toEqual([moment, "hello", []]);
      expect(lateMs).toBeLessThanOrEqual(promptMs);
    }
  });
});

describe("while the history of a run is being read", () => {
  /** Gives its runs back after every event, and takes a second to read their histories. */
  async function slowReader(cluster: Cluster, definition: AnyWorkflow): Promise<{ process: Process; worker: Worker }> {
    const process = cluster.process("p", async (method, _params, next) => {
      const answer = await next();
      if (method === "histories.read") await cluster.wait(1_000);
      return answer;
    });
    const worker = await process.worker({ workflows: [definition], cacheSize: 0, tuning: { eventsPerHoldMax: 1 } });
    await cluster.until(process.client.start(definition.name, undefined, { id: "r" }));
    await cluster.when(() => (cluster.store.calls["histories.read"] ?? 0) > 0);
    await cluster.clock.advance("100ms");
    return { process, worker };
  }

  test("a signal comes: the run receives it as soon as it is there, although nobody could be told", async () => {
    const cluster = new Cluster();
    const long = workflow("long", async (ctx) => {
      await ctx.step("first", () => 1);
      const { value } = await ctx.race({
        heard: (branch) => branch.receive(word),
        worked: (branch) => branch.step("work", () => new Promise<string>(() => {})),
      });
      return value;
    });
    const { process } = await slowReader(cluster, long);
    const run = process.client.get("r");
    await cluster.until(run.signal(word, "hello"));
    expect(await cluster.until(run.result())).toBe("hello");
    expect(cluster.clock.monotonic()).toBeLessThanOrEqual(1_100);
  });

  test("the run is terminated: its steps do not start", async () => {
    const cluster = new Cluster();
    const two = workflow("two", async (ctx) => {
      await ctx.step("first", () => 1);
      await ctx.step("second", () => 2);
    });
    const { process, worker } = await slowReader(cluster, two);
    await cluster.until(process.client.get("r").terminate());
    await cluster.clock.advance("5s");
    expect(cluster.count("r", "second")).toBe(0);
    expect(worker.activeRuns).toBe(0);
  });
});

test("a run that is claimed too early, and suspended too late, does not miss the moment at which it is due", async () => {
  const cluster = new Cluster();
  const flaky = workflow("flaky", async (ctx) => {
    const once = ({ attempt }: { readonly attempt: number }): number => {
      if (attempt === 1) throw new Error("once");
      return attempt;
    };
    return ctx.step("try", once, { retry: { attempts: 2, fixed: "10s" } });
  });
  const commits = new Valve("runs.commit", "calls");
  const process = cluster.process("p", commits.hook);
  await process.worker({ workflows: [flaky, listen], tuning: { flushesInFlightMax: 1 } });
  const run = await cluster.until(process.client.start(flaky, undefined, { id: "r" }));
  await cluster.when(() => cluster.runOf("r").status === "sleeping");
  // The only flush that may be in flight belongs to another run, and takes its time.
  commits.shut();
  await cluster.until(process.client.start(listen, undefined, { id: "slow" }));
  await cluster.when(() => commits.waiting === 1);
  // The run is released before its backoff is over, as an unknown claim would be.
  cluster.runOf("r").availableAt = cluster.clock.now();
  cluster.hints.publish([{ type: "due", namespace: "default", queue: "default" }]);
  await cluster.when(() => cluster.runOf("r").heldBy !== null);
  await cluster.clock.advance("15s");
  commits.open();
  expect(await cluster.until(run.result())).toBe(2);
});

test("a delayed start that another process has made begins on time, whenever the worker has last looked", async () => {
  const cluster = new Cluster();
  await cluster.process("worker").worker({ workflows: [patient] });
  await cluster.clock.advance("1 minute");
  const { client } = cluster.process("client");
  const delays = [700, 1_900, 4_999, 12_345];
  const runs = [];
  for (const delay of delays) {
    runs.push(await cluster.until(client.start(patient, undefined, { delay: { milliseconds: delay } })));
    await cluster.clock.advance({ milliseconds: 137 });
  }
  const startAt = new Date(cluster.clock.now() + 2_222);
  const dated = await cluster.until(client.start(patient, undefined, { startAt }));
  await cluster.clock.advance("20s");
  const rows = runs.map(({ runId }) => cluster.run(runId));
  expect(rows.map(({ createdAt, startedAt }) => (startedAt ?? 0) - createdAt)).toEqual(delays);
  expect(cluster.run(dated.runId).startedAt).toBe(startAt.getTime());
});

describe("without any hint", () => {
  test("a run that writes something anyway learns of its messages by that", async () => {
    const cluster = new Cluster();
    cluster.hints.loses = () => true;
    const busy = workflow("busy", async (ctx) => {
      const heard = ctx.receive(word);
      for (let i = 0; i < 20; i++) await ctx.step("tick", () => cluster.wait(100));
      return heard;
    });
    const process = cluster.process("p");
    await process.worker({ workflows: [busy] });
    const run = await cluster.until(process.client.start(busy, undefined, { id: "r" }));
    await cluster.clock.advance("250ms");
    await cluster.until(run.signal(word, "x"));
    await cluster.clock.advance("250ms");
    expect(cluster.eventsOf("r").some(({ type }) => type === "signal_received")).toBe(true);
    await cluster.until(run.result());
  });

  test("a run that suspends while a claim is on its way is woken at its time", async () => {
    const cluster = new Cluster();
    cluster.hints.loses = () => true;
    const nap = workflow("nap", async (ctx) => {
      await ctx.step("work", () => cluster.wait(2 * CLAIM_FALLBACK_MS));
      await ctx.sleep("z", "1s");
    });
    const claims = new Valve("runs.claim", "answers");
    const process = cluster.process("p", claims.hook);
    await process.worker({ workflows: [nap] });
    const run = await cluster.until(process.client.start(nap, undefined, { id: "r" }));
    claims.shut();
    await cluster.when(() => claims.waiting === 1 && cluster.runOf("r").status === "sleeping");
    const beganMs = cluster.clock.monotonic();
    // The answer is older than the nap, and knows nothing of it.
    claims.open();
    await cluster.until(run.result());
    expect(cluster.clock.monotonic() - beganMs).toBeLessThanOrEqual(1_100);
  });

  test("a run that another process starts is found by the next look of a claimer", async () => {
    const cluster = new Cluster();
    cluster.hints.loses = () => true;
    const worker = cluster.process("worker");
    const client = cluster.process("client");
    await worker.worker({ workflows: [patient] });
    await cluster.clock.advance("1 minute");
    const run = await cluster.until(client.client.start(patient));
    const startedMs = cluster.clock.monotonic();
    await cluster.when(() => cluster.run(run.runId).status === "waiting");
    expect(cluster.clock.monotonic() - startedMs).toBeLessThanOrEqual(CLAIM_FALLBACK_MS + 100);
    await cluster.until(run.signal(word, "x"));
    expect(await cluster.until(run.result())).toEqual([1, "x", 2]);
  });

  test("timers of suspended runs fire in time, also of those that suspend while a claim is on its way", async () => {
    const cluster = new Cluster();
    cluster.hints.loses = () => true;
    const nap = workflow("nap", async (ctx, ms: number) => {
      const beginMs = ctx.now().getTime();
      await ctx.sleep("z", { milliseconds: ms });
      return ctx.now().getTime() - beginMs;
    });
    const process = cluster.process("p", async (method, _params, next) => {
      // Answers of claims are old when they come: what has suspended since is not in them.
      const answer = await next();
      if (method === "runs.claim") await cluster.wait(200);
      return answer;
    });
    await process.worker({ workflows: [nap] });
    const wanted = Array.from({ length: 20 }, (_, i) => 300 + i * 130);
    const runs = [];
    for (const input of wanted) {
      runs.push(await cluster.until(process.client.start(nap, input)));
      await cluster.clock.advance({ milliseconds: 37 });
    }
    const slept = await cluster.until(Promise.all(runs.map((run) => run.result())));
    const late = slept.map((ms, i) => ms - (wanted[i] as number));
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...late)).toBeLessThanOrEqual(800);
  });
});
