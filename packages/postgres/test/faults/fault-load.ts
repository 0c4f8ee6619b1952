/**
 * Work for a real engine on a real server while faults strike the server, and checks afterwards. No process dies in these
 * tests, so nothing may be recorded or executed twice.
 */
import { type Client, connect, type RunHandle, signal, type Worker, type WorkerOptions, workflow } from "holdfast";
import { expect } from "vitest";
import { eventTypeCode } from "../../src/database/codes.ts";
import { silent, type TestDatabase } from "../test-database.ts";

export const STEPS = 10;
const go = signal<{ readonly bonus: number }>("go");

export interface OrderInput {
  readonly n: number;
  /** What it waits for in its middle. */
  readonly pause: "none" | "sleep" | "signal";
}

interface Watch {
  readonly count: number;
  readonly resolve: () => void;
}

export class FaultLoad {
  readonly clients: Client[] = [];
  readonly workers: Worker[] = [];
  readonly #database: TestDatabase;
  readonly #executions = new Map<string, number>();
  readonly #watches = new Set<Watch>();
  readonly #inputs: OrderInput[] = [];
  #effects = 0;
  #failed = (): void => {};
  /** From now on, each step takes this long. */
  stepTakes: () => Promise<unknown> | undefined = () => undefined;

  readonly order = workflow("order", async (ctx, { n, pause }: OrderInput) => {
    let sum = n;
    for (let i = 0; i < STEPS; i++) {
      if (i === STEPS / 2 && pause === "sleep") await ctx.sleep("nap", "20ms");
      if (i === STEPS / 2 && pause === "signal") sum += (await ctx.receive(go)).bonus;
      sum += await ctx.step(`part ${i}`, async () => {
        this.#executed(`${n} part ${i}`);
        await this.stepTakes();
        return i;
      });
    }
    return sum;
  });

  constructor(database: TestDatabase) {
    this.#database = database;
  }

  async client(url: string): Promise<Client> {
    const count = (metric: string): void => void (metric === "store_failures" && this.#failed());
    const client = await connect(url, { logger: silent, telemetry: { count, duration() {} } });
    this.clients.push(client);
    return client;
  }

  async worker(url: string, options: Partial<WorkerOptions> = {}): Promise<Client> {
    const client = await this.client(url);
    const worker = client.worker({
      workflows: [this.order],
      lease: "2s",
      concurrency: 200,
      // Only work that a fault has held up may wait for this fallback, which finds work whose hint was lost.
      tuning: { claimFallbackMs: 1_000 },
      ...options,
    });
    this.workers.push(worker);
    await worker.start();
    return client;
  }

  async start(client: Client, count: number, pause: OrderInput["pause"] = "none"): Promise<RunHandle<number>[]> {
    const inputs = Array.from({ length: count }, (_, i): OrderInput => ({ n: this.#inputs.length + i, pause }));
    this.#inputs.push(...inputs);
    return Promise.all(inputs.map((input) => client.start(this.order, input, { id: `order ${input.n}` })));
  }

  signal(handles: readonly RunHandle<number>[]): Promise<unknown> {
    return Promise.all(handles.map((handle) => handle.signal(go, { bonus: 1_000 })));
  }

  /** From now on, steps take until the returned function is called. */
  pauseSteps(): () => void {
    let goOn = (): void => {};
    const over = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    this.stepTakes = () => over;
    return () => {
      this.stepTakes = () => undefined;
      goOn();
    };
  }

  /** Resolves as soon as that many more steps have been executed. */
  executions(more: number): Promise<void> {
    return new Promise((resolve) => this.#watches.add({ count: this.#effects + more, resolve }));
  }

  /** Resolves as soon as that many more flushes have failed. */
  failures(more: number): Promise<void> {
    let left = more;
    return new Promise((resolve) => {
      this.#failed = () => {
        left -= 1;
        if (left === 0) resolve();
      };
    });
  }

  /** Every run ends with the right output, and every step was executed once and recorded once. */
  async expectDoneOnce(handles: readonly RunHandle<number>[]): Promise<void> {
    const results = await Promise.all(handles.map((handle) => handle.result({ timeout: "30s" })));
    const steps = (STEPS * (STEPS - 1)) / 2;
    const bonus = ({ pause }: OrderInput): number => (pause === "signal" ? 1_000 : 0);
    expect(results).toEqual(this.#inputs.map((input) => input.n + bonus(input) + steps));
    const rows = await this.#database.sql(
      `select count(*)::int as recorded, count(distinct (run_no, op))::int as ops
         from (select run_no, op, type from ${this.#database.name("events")}
               union all select run_no, tail_op, tail_type from ${this.#database.name("runs")}) e
        where type = ${eventTypeCode("step_completed")}`,
    );
    const all = this.#inputs.length * STEPS;
    expect(rows).toEqual([{ recorded: all, ops: all }]);
    expect(this.#executions.size).toBe(all);
    expect([...this.#executions].filter(([, count]) => count !== 1)).toEqual([]);
    const [left] = await this.#database.sql(
      `select count(*)::int as open from ${this.#database.name("runs")} where ended_at is null or held_by is not null`,
    );
    expect(left).toEqual({ open: 0 });
  }

  /** No run was claimed except after its own pauses, and no worker was declared dead. */
  async expectNoTakeover(): Promise<void> {
    const rows = await this.#database.sql(
      `select s.id, r.epoch from ${this.#database.name("runs")} r join ${this.#database.name("run_starts")} s using (run_id)`,
    );
    const pauses = new Map(this.#inputs.map((input) => [`order ${input.n}`, input.pause === "none" ? 0 : 1]));
    const handsMost = (id: unknown): number => 1 + (pauses.get(id as string) ?? 0);
    expect(rows).toHaveLength(this.#inputs.length);
    expect(rows.filter(({ id, epoch }) => (epoch as number) > handsMost(id))).toEqual([]);
    expect(await this.deaths()).toBe(0);
  }

  async deaths(): Promise<number> {
    const [row] = await this.#database.sql(
      `select count(*)::int as died from ${this.#database.name("workers")} where died`,
    );
    return row?.died as number;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.splice(0).map((client) => client.close()));
  }

  #executed(step: string): void {
    this.#executions.set(step, (this.#executions.get(step) ?? 0) + 1);
    this.#effects += 1;
    for (const watch of this.#watches) {
      if (this.#effects < watch.count) continue;
      this.#watches.delete(watch);
      watch.resolve();
    }
  }
}
