/**
 * Everything at once, from a seed: processes that die and come back, freeze, lose their way to the store, drain and restart,
 * while the store fails, dawdles and loses hints. Then all is mended, and everything must have come out right.
 */
import { type AnyWorkflow, signal, workflow } from "../../src/define/definitions.ts";
import type { Worker } from "../../src/engine/worker.ts";
import { isHoldfastError } from "../../src/errors/holdfast-error.ts";
import { isClosed } from "../../src/model/run.ts";
import { SeededRandom } from "../../src/replay/seeded-random.ts";
import { Cluster, faultsInStore, outcomeUnknown, type Process, type StoreHook, unavailable } from "./harness.ts";

const CHAOS_MS = 4 * 60_000;
const note = signal<number>("note");
const KINDS = ["order", "notes", "chain", "saga", "once", "retried", "mixed", "late"];

export interface ChaosReport {
  readonly faults: readonly string[];
  readonly events: readonly string[];
  readonly executions: number;
}

interface Machine {
  process: Process;
  worker: Worker | undefined;
  troubled: boolean;
}

export class Chaos {
  readonly cluster = new Cluster();
  readonly #random: SeededRandom;
  readonly #faults: string[] = [];
  readonly #events: string[] = [];
  readonly #workflows: readonly AnyWorkflow[];
  readonly #machines: Machine[] = [];
  #failing = 0;
  #slowMs = 0;
  #healed = false;

  constructor(seed: number) {
    this.#random = new SeededRandom(`chaos ${seed}`);
    this.#workflows = makeWorkflows(this.cluster, (fault) => this.#faults.push(fault));
  }

  async run(): Promise<ChaosReport> {
    const { cluster } = this;
    for (let i = 0; i < 3; i++) this.#machines.push({ process: cluster.process(), worker: undefined, troubled: false });
    for (const machine of this.#machines) await cluster.until(this.#bringUp(machine));
    cluster.store.fault = (moment) => {
      if (this.#random.next() >= this.#failing) return undefined;
      return moment === "before" ? unavailable() : outcomeUnknown();
    };
    const outside = cluster.process("outside");
    const driven = this.#drive(outside);
    this.#makeTrouble();
    await cluster.clock.advance({ milliseconds: CHAOS_MS });
    this.#heal();
    await cluster.clock.advance("2 minutes");
    for (const run of cluster.store.state.runs.values()) {
      // Bad luck makes innocent runs look like poison; that is what resume is for.
      if (run.status === "parked") await cluster.until(outside.client.get(run.id).resume());
    }
    await cluster.until(driven, "1 hour").catch((error: unknown) => this.#faults.push(`driving failed: ${error}`));
    this.#judge();
    return { faults: this.#faults, events: this.#events, executions: cluster.executions.length };
  }

  readonly #hook: StoreHook = async (_method, _params, next) => {
    const dawdle = async (): Promise<void> => {
      if (this.#slowMs > 0 && this.#random.next() < 0.5) await this.cluster.wait(this.#random.next() * this.#slowMs);
    };
    await dawdle();
    try {
      return await next();
    } finally {
      await dawdle();
    }
  };

  async #bringUp(machine: Machine): Promise<void> {
    machine.process = this.cluster.process(undefined, this.#hook);
    const options = { workflows: this.#workflows, cacheSize: this.#pick(0, 1, 100), concurrency: this.#pick(2, 10) };
    machine.worker = machine.process.makeWorker({ ...options, drainTimeout: "5s", tuning: { windUpMs: 3_000 } });
    machine.troubled = false;
    await machine.worker.start();
  }

  #makeTrouble(): void {
    if (this.#healed) return;
    const machine = this.#pick(...this.#machines);
    const trouble = this.#pick("kill", "kill", "freeze", "cut off", "drain", "stop", "failures", "slowness", "hints");
    this.#events.push(`${Math.round(this.cluster.clock.monotonic())} ${trouble} ${machine.process.name}`);
    this.#cause(trouble, machine);
    this.cluster.clock.setTimer(this.#random.next() * 5_000, () => this.#makeTrouble());
  }

  #cause(trouble: string, machine: Machine): void {
    const { cluster } = this;
    const later = (ms: number, callback: () => void): void =>
      void cluster.clock.setTimer(this.#random.next() * ms, callback);
    if (trouble === "failures") {
      this.#failing = this.#pick(0, 0.1, 1);
      return later(this.#pick(3_000, 50_000), () => {
        this.#failing = 0;
      });
    }
    if (trouble === "slowness") this.#slowMs = this.#pick(0, 20, 1_500);
    if (trouble === "hints") {
      const loses = this.#random.next() < 0.5;
      cluster.hints.loses = () => loses && !this.#healed;
    }
    if (machine.troubled || ["slowness", "hints"].includes(trouble)) return;
    machine.troubled = true;
    const { process, worker } = machine;
    if (trouble === "kill") {
      process.kill();
      return later(20_000, () => void this.#bringUp(machine));
    }
    if (trouble === "freeze" || trouble === "cut off") {
      if (trouble === "freeze") process.life.freeze();
      else process.life.cutOff();
      return later(70_000, () => {
        process.thaw();
        machine.troubled = false;
      });
    }
    void worker?.[trouble as "drain" | "stop"]().then(() => {
      if (machine.process === process) void worker.start();
      machine.troubled = false;
    });
  }

  #heal(): void {
    this.#healed = true;
    this.#failing = 0;
    this.#slowMs = 0;
    for (const machine of this.#machines) {
      if (machine.process.life.dead) void this.#bringUp(machine);
      else machine.process.thaw();
    }
  }

  /** Starts runs and talks to them, in spite of everything. */
  async #drive(outside: Process): Promise<void> {
    const { client } = outside;
    const insist = async <T>(call: () => Promise<T>): Promise<T> => {
      for (;;) {
        try {
          return await call();
        } catch (error) {
          const away = isHoldfastError(error, "store_unavailable") || isHoldfastError(error, "store_outcome_unknown");
          if (!away) throw error;
        }
      }
    };
    for (let i = 0; i < 6; i++) {
      for (const name of KINDS) {
        const timeout = name === "late" ? { timeout: "40s" as const } : {};
        await insist(() => client.start(name, name === "order" ? i : 0, { id: `${name}${i}`, ...timeout }));
      }
      await this.cluster.wait(this.#random.next() * 15_000);
    }
    for (let n = 1; n <= 6; n++) {
      for (let i = 0; i < 6; i++) {
        for (const name of ["notes", "chain"]) {
          await insist(() => client.get(`${name}${i}`).signal(note, n, { id: `${name}${i}${n}` }));
        }
      }
      await this.cluster.wait(this.#random.next() * 15_000);
    }
    for (let i = 0; i < 6; i++) await insist(() => client.get(`saga${i}`).cancel());
    for (let i = 0; i < 6; i++) {
      for (const name of KINDS) await this.#expectEnd(insist, client, `${name}${i}`);
    }
  }

  async #expectEnd(
    insist: <T>(call: () => Promise<T>) => Promise<T>,
    client: Process["client"],
    id: string,
  ): Promise<void> {
    const told = (error: unknown): string => (isHoldfastError(error) ? error.code : String(error));
    const outcome = await insist(() => client.get(id).result()).catch(told);
    const n = Number(id.at(-1));
    const expected: Record<string, readonly unknown[]> = {
      order: [{ a: n, tried: "ok", parts: [1, 2, 3] }],
      notes: [[1, 2, 3, 4, 5, 6]],
      chain: [21],
      saga: ["run_canceled"],
      // At most once: where a crash has cut it off, the run fails.
      once: ["done", "run_failed"],
      retried: ["third time"],
      mixed: [{ winner: "quick", flag: 7, shielded: "shielded" }],
      late: ["run_timed_out"],
    };
    const wanted = (expected[id.slice(0, -1)] ?? []).map((value) => JSON.stringify(value));
    if (!wanted.includes(JSON.stringify(outcome))) this.#faults.push(`${id}: ${JSON.stringify(outcome)}`);
  }

  #judge(): void {
    const { cluster } = this;
    this.#faults.push(...faultsInStore(cluster.store), ...cluster.trespasses());
    for (const run of cluster.store.state.runs.values()) {
      if (!isClosed(run.status)) this.#faults.push(`${run.id} is ${run.status}`);
      // A run that no worker takes for a whole lease after its deadline is ended by a sweep, without cleaning up.
      const forsaken = run.error?.message.includes("no worker could take the run") === true;
      const undone = forsaken || run.compensation === "compensated" || cluster.count(run.id, "book") === 0;
      if ((run.workflow === "saga" || run.workflow === "late") && !undone) this.#faults.push(`${run.id} is not undone`);
      if (run.workflow === "once" && cluster.count(run.id, "pay") > 1) this.#faults.push(`${run.id}: paid twice`);
    }
    this.#faults.push(...cluster.errors.filter((line) => !/run parked|claimed run/.test(line)));
  }

  #pick<T>(...choices: T[]): T {
    return choices[Math.floor(this.#random.next() * choices.length)] as T;
  }
}

function makeWorkflows(cluster: Cluster, report: (fault: string) => void): readonly AnyWorkflow[] {
  /** A step that must not run when its result is in the store. */
  const fresh = <T>(runId: string, op: string, value: T, ms = 0) => {
    return (): T | Promise<T> => {
      const events = cluster.store.state.events.get(runId) ?? [];
      if (events.some((event) => event.op === op && event.type === "step_completed")) {
        report(`${cluster.run(runId).id}: "${op}" runs although it is recorded`);
      }
      return ms === 0 ? value : cluster.wait(ms).then(() => value);
    };
  };
  const order = workflow("order", async (ctx, n: number) => {
    const { runId } = ctx.info;
    const a = await ctx.step("a", fresh(runId, "a", n, 3_000));
    const flaky = ({ attempt }: { readonly attempt: number }): string => {
      if (attempt < 3) throw new Error("not yet");
      return "ok";
    };
    const tried = await ctx.step("flaky", flaky, { retry: { attempts: 3, fixed: "4s" } });
    await ctx.sleep("nap", "20s");
    const parts = await Promise.all([1, 2, 3].map((i) => ctx.step(`p${i}`, fresh(runId, `p${i}`, i, i * 1_000))));
    return { a, tried, parts };
  });
  const notes = workflow("notes", async (ctx) => {
    const received: number[] = [];
    while (received.length < 6) {
      received.push(await ctx.receive(note));
      await ctx.step(`kept${received.length}`, fresh(ctx.info.runId, `kept${received.length}`, 1, 500));
    }
    return received;
  });
  const chain = workflow("chain", async (ctx, sum: number): Promise<number> => {
    const next = sum + (await ctx.receive(note));
    await ctx.step("keep", fresh(ctx.info.runId, "keep", next, 100));
    return next >= 21 ? next : ctx.continueAsNew(next);
  });
  const saga = workflow("saga", async (ctx) => {
    await ctx.step("book", fresh(ctx.info.runId, "book", 1, 1_000), { compensate: () => cluster.wait(1_000) });
    await ctx.step("long", () => cluster.wait(10_000), { compensate: () => {} });
    await ctx.sleep("z", "1 day");
  });
  const once = workflow("once", async (ctx) => {
    await ctx.step("before", fresh(ctx.info.runId, "before", 1, 1_000));
    await ctx.step("pay", () => cluster.wait(2_000), { onCrash: "fail" });
    return "done";
  });
  return [order, notes, chain, saga, once, ...moreWorkflows(cluster)];
}

function moreWorkflows(cluster: Cluster): readonly AnyWorkflow[] {
  const failures = new Map<string, number>();
  const retried = workflow({ name: "retried", retry: { attempts: 3, fixed: "3s" } }, async (ctx) => {
    await ctx.step("before", () => cluster.wait(500));
    const fail = async (): Promise<string> => {
      const failed = failures.get(ctx.info.runId) ?? 0;
      failures.set(ctx.info.runId, failed + 1);
      await cluster.wait(1_000);
      if (failed < 2) throw new Error("not yet");
      return "third time";
    };
    return ctx.step("fragile", fail, { retry: "none" });
  });
  const mixed = workflow("mixed", async (ctx) => {
    const flag = ctx.sideEffect("flag", () => 7);
    const { winner } = await ctx.race({
      slow: (branch) => branch.sleep("slow", "1 day"),
      quick: (branch) => branch.step("quick", () => cluster.wait(2_000)),
    });
    const shielded = await ctx.uncancelable((inner) =>
      inner.step("shielded", () => cluster.wait(500).then(() => "shielded")),
    );
    return { winner, flag, shielded };
  });
  const late = workflow("late", async (ctx) => {
    await ctx.step("book", () => cluster.wait(500), { compensate: () => cluster.wait(2_000) });
    await ctx.receive(note);
  });
  return [retried, mixed, late];
}
