import { jsonCodec, type Logger, signal, silentLogger, workflow } from "holdfast";
import { hookedStore, type Segment, type StoreHooks } from "holdfast/adapter";
import { MemoryNotifier, MemoryStore, SeededSource, VirtualClock } from "holdfast/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { Client } from "../../src/client/client.ts";

const go = signal<number>("go");

/** Does as many steps as it is told, again and again, until it is told none. */
const long = workflow("long", async (ctx, bytes: number) => {
  let done = 0;
  for (let steps = await ctx.receive(go); steps > 0; steps = await ctx.receive(go))
    for (let i = 0; i < steps; i++)
      done += await ctx.step("work", () => ({ n: 1, text: "x".repeat(bytes) })).then(({ n }) => n);
  return done;
});

/** A store in memory that says, like those on disk, that segments pay. */
class PackingStore extends MemoryStore {
  override readonly capabilities = { transactions: { kind: "memory", words: "memory" }, segments: true } as const;
}

class Lab {
  readonly clock = new VirtualClock();
  readonly notifier = new MemoryNotifier(this.clock);
  readonly store = new PackingStore({ clock: this.clock, notifier: this.notifier });
  readonly errors: string[] = [];
  readonly counted: string[] = [];
  #clients = 0;

  client(hooks: StoreHooks = {}): Client {
    this.#clients += 1;
    const log: Logger = { ...silentLogger, error: (_fields, message) => void this.errors.push(message ?? "") };
    const client = new Client(
      {
        clock: this.clock,
        random: new SeededSource(this.#clients),
        codec: jsonCodec,
        log,
        store: hookedStore(this.store, hooks),
        notifier: this.notifier,
        telemetry: {
          count: (metric, _times, labels) => void this.counted.push(`${metric} ${JSON.stringify(labels)}`),
          duration() {},
        },
      },
      "default",
      async () => {},
    );
    onTestFinished(() => this.clock.until(client.close()));
    return client;
  }

  /** A process that takes the run up cold, does that many steps, packs in peace, and stops. */
  async process(runId: string, steps: number, hooks: StoreHooks = {}): Promise<void> {
    const client = this.client(hooks);
    const worker = client.worker({ workflows: [long] });
    await this.clock.until(worker.start());
    const handle = client.get(long, "the run");
    await this.clock.until(handle.signal(go, steps));
    if (steps === 0) await this.clock.until(handle.result());
    await this.clock.advance("1 minute");
    await this.clock.until(client.close());
    expect(this.store.state.runs.get(runId)?.heldBy).toBeNull();
  }

  async start(bytes = 0): Promise<string> {
    const { runId } = await this.clock.until(this.client().start(long, bytes, { id: "the run" }));
    return runId;
  }

  segments(runId: string): readonly Segment[] {
    return this.store.state.segments.get(runId)?.segments ?? [];
  }

  ends(runId: string): number[] {
    return this.segments(runId).map(({ lastSeq }) => lastSeq);
  }
}

function noting(reads: string[]): StoreHooks {
  return {
    "histories.read": (params, call) => {
      for (const { afterSeq } of params.runs) reads.push(`events after ${afterSeq}`);
      return call();
    },
    "segments.read": (params, call) => {
      for (const { afterSeq } of params.runs) reads.push(`segments after ${afterSeq}`);
      return call();
    },
    "segments.addIfCurrent": (params, call) => {
      reads.push(`adds ${params.segments.map(({ firstSeq, lastSeq }) => `${firstSeq}–${lastSeq}`)}`);
      return call();
    },
    "segments.drop": (_params, call) => {
      reads.push("drops");
      return call();
    },
  };
}

describe("a long history", () => {
  test("is packed by the worker that has had to read it, and the next one reads only the rest", async () => {
    const lab = new Lab();
    const runId = await lab.start();
    await lab.process(runId, 1_300);
    expect(lab.ends(runId)).toEqual([]);
    const first: string[] = [];
    await lab.process(runId, 1, noting(first));
    expect(first).toEqual(["segments after 0", "events after 0", "adds 1–500,501–1000"]);
    const second: string[] = [];
    await lab.process(runId, 300, noting(second));
    expect(second).toEqual(["segments after 0", "events after 1000"]);
    const third: string[] = [];
    await lab.process(runId, 0, noting(third));
    expect(third).toEqual(["segments after 0", "events after 1000", "adds 1001–1500"]);
    expect(lab.store.state.runs.get(runId)).toMatchObject({ status: "completed", output: jsonCodec.encode(1_601, "") });
    expect(lab.errors).toEqual([]);
  });

  test("reads the same from its segments as without them", async () => {
    const lab = new Lab();
    const runId = await lab.start(10);
    await lab.process(runId, 700);
    await lab.process(runId, 400);
    await lab.process(runId, 1);
    expect(lab.ends(runId)).toEqual([500, 1_000]);
    const packed = await lab.clock.until(lab.client().get("the run").history());
    lab.store.state.segments.clear();
    expect(packed).toEqual(await lab.clock.until(lab.client().get("the run").history()));
  });

  test("of no more than 500 events is not asked for segments", async () => {
    const lab = new Lab();
    const runId = await lab.start();
    await lab.process(runId, 400);
    const calls: string[] = [];
    await lab.process(runId, 1, noting(calls));
    expect(calls).toEqual(["events after 0"]);
  });

  test("whose payloads are large is left as it is", async () => {
    const lab = new Lab();
    const runId = await lab.start(9_000);
    await lab.process(runId, 600);
    const calls: string[] = [];
    await lab.process(runId, 1, noting(calls));
    expect(calls).toEqual(["segments after 0", "events after 0"]);
  });
});

describe("a damaged segment", () => {
  test("is reported, its events are read instead, and all of it is packed anew", async () => {
    const lab = new Lab();
    const runId = await lab.start();
    await lab.process(runId, 1_200);
    await lab.process(runId, 1);
    const [, second] = lab.segments(runId);
    (second as Segment).bytes[100] = ((second as Segment).bytes[100] as number) ^ 1;
    const calls: string[] = [];
    await lab.process(runId, 1, noting(calls));
    expect(lab.errors).toEqual([
      expect.stringContaining(
        `the packed copy of events 501 to 1000 of run ${runId} is damaged (its checksum is wrong)`,
      ),
    ]);
    expect(lab.counted).toContain('segments_damaged {"fault":"sum"}');
    expect(calls).toEqual(["segments after 0", "events after 500", "drops", "adds 1–500,501–1000"]);
    await lab.process(runId, 0);
    expect(lab.store.state.runs.get(runId)).toMatchObject({ status: "completed", output: jsonCodec.encode(1_202, "") });
    expect(lab.errors).toHaveLength(1);
  });
});

describe("packing", () => {
  test("is given up when the segments are dropped meanwhile: the payloads may have been rewritten", async () => {
    const lab = new Lab();
    const runId = await lab.start();
    await lab.process(runId, 1_200);
    await lab.process(runId, 1, {
      "segments.addIfCurrent": async (params, call) => {
        await lab.store.segments.drop({ runs: [params] });
        return call();
      },
    });
    expect(lab.store.state.segments.get(runId)).toEqual({ edition: 1, segments: [] });
    await lab.process(runId, 1);
    expect(lab.ends(runId)).toEqual([500, 1_000]);
  });

  test("ends with the worker", async () => {
    const lab = new Lab();
    const runId = await lab.start();
    await lab.process(runId, 1_200);
    const client = lab.client();
    const worker = client.worker({ workflows: [long] });
    await lab.clock.until(worker.start());
    await lab.clock.until(client.get(long, "the run").signal(go, 1));
    await lab.clock.until(client.close());
    await lab.clock.advance("1 minute");
    expect(lab.ends(runId)).toEqual([]);
  });
});
