/**
 * One worker process. It dies or stops at the point that the harness has armed, and never outlives the harness. Nothing
 * between "the point is reached" and death is asynchronous.
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { isHoldfastError, type TaskInfo, type Worker } from "holdfast";
import type {
  BeatTasksResult,
  CommitRunsParams,
  CommitRunsResult,
  FinishTasksResult,
  HeartbeatParams,
  Run,
  Task,
} from "holdfast/adapter";
import { linesOfBeat, linesOfCommit, linesOfFinish } from "./durable-lines.ts";
import { type EffectPlan, type EffectSite, effectSites } from "./effect.ts";
import { type EffectLine, EffectsFile } from "./effects-file.ts";
import { Holds } from "./holds.ts";
import { useLedger } from "./ledger.ts";
import { migrateMortally } from "./mortal-driver.ts";
import { type Point, pointsAfter, pointsBefore, pointsReached, type StoreMoment, watchStore } from "./named-points.ts";
import { say } from "./say.ts";
import { ALL_TASKS, TASK_LABELS } from "./task-workloads.ts";
import { openTortureClient, type TortureClient } from "./torture-client.ts";
import {
  type FinishOrder,
  type FromWorker,
  POINT_FD,
  type PointAction,
  type SayOrder,
  type ToWorker,
  type WorkerFacts,
  type WorkerSetup,
} from "./worker-messages.ts";
import { ALL_DEFINITIONS, definitionNamed } from "./workflows.ts";

/** Long enough for the signal to take effect before the next line. */
const STOPPING_MS = 100;

const setup = JSON.parse(process.argv[2] ?? "{}") as WorkerSetup;

class WorkerProcess {
  #armed: { point: Point; action: PointAction; skip: number } | undefined;
  #effects = new EffectsFile(setup.effectsFile);
  readonly #epochs = new Map<string, number>();
  readonly #holds = new Holds();
  readonly #sent = new Map<unknown, number>();
  #leaseEndsAt = Number.POSITIVE_INFINITY;
  #executions = 0;
  #refusedWrites = 0;
  #declaredDead = 0;
  #draining = false;
  #openGate: () => void = () => {};
  readonly #gate = new Promise<void>((resolve) => {
    this.#openGate = resolve;
  });
  #torture: TortureClient | undefined;
  #worker: Worker | undefined;

  async start(): Promise<void> {
    if (setup.dieAtStatement !== undefined) await migrateMortally(setup.place, setup.dieAtStatement);
    useLedger(setup.place, () => this.#reach(["in-transaction"]));
    this.#torture = await openTortureClient(setup.place, {
      wrap: (store) => watchStore(store, { before: (call) => this.#before(call), after: (call) => this.#after(call) }),
      steps: {
        around: ({ runId, op, attempt }, run) => {
          const about = { run: runId, op, attempt, epoch: this.#epochs.get(runId) ?? 0 };
          return effectSites.run(this.#site(about), run);
        },
      },
      tasks: { around: (task, _input, info, run) => effectSites.run(this.#taskSite(task, info as TaskInfo), run) },
    });
    if (setup.dieAtStatement === undefined && setup.role !== "client") {
      const { role = "both", leaseMs, concurrency } = setup;
      this.#worker = this.#torture.client.worker({
        ...(role === "tasks" ? {} : { workflows: ALL_DEFINITIONS }),
        ...(role === "workflows" ? {} : { tasks: ALL_TASKS, labels: TASK_LABELS }),
        lease: { milliseconds: leaseMs },
        concurrency,
        taskConcurrency: concurrency,
        drainTimeout: "5s",
      });
      await this.#worker.start();
    }
    tell({ type: "ready" });
  }

  async take(message: ToWorker): Promise<void> {
    switch (message.type) {
      case "arm":
        this.#armed = { ...message };
        return;
      case "open-gate":
        return this.#openGate();
      case "effects-file":
        this.#effects.close();
        this.#effects = new EffectsFile(message.path);
        return this.#answer(message.request);
      case "ask":
        return this.#answer(message.request);
      case "start":
        await Promise.all(
          // Not by its name: a process that only executes tasks does not know the options of the workflow.
          message.runs.map(({ workflow, id, input }) =>
            this.#torture?.client.start(definitionNamed(workflow), input, { id }),
          ),
        );
        return this.#answer(message.request);
      case "finish":
        await this.#finish(message.order);
        return this.#answer(message.request);
      case "say":
        return this.#answer(message.request, await this.#say(message.order));
      case "drain":
        this.#draining = true;
        await this.#worker?.drain();
        tell({ type: "drained" });
    }
  }

  async #finish({ token, type, result }: FinishOrder): Promise<void> {
    if (!this.#torture) throw new Error("the store is not open yet");
    const { tasks } = this.#torture.client;
    if (type === "complete") await tasks.complete(token, result);
    else await tasks.fail(token, new Error(result.value));
  }

  async #say(order: SayOrder): Promise<unknown> {
    if (!this.#torture) throw new Error("the store is not open yet");
    const value = await say(this.#torture.client, order);
    // Whoever has been told this may die before the harness hears of it.
    const about = { run: order.id, op: order.sent.token, attempt: 0, epoch: 0 };
    this.#effects.append([{ phase: "told", at: Date.now(), pid: process.pid, ...about, answer: value }]);
    return value;
  }

  #answer(request: number, value?: unknown): void {
    const facts: WorkerFacts = {
      workerId: this.#worker?.workerId ?? "",
      activeRuns: this.#worker?.activeRuns ?? 0,
      activeTasks: this.#worker?.activeTasks ?? 0,
      refusedWrites: this.#refusedWrites,
      declaredDead: this.#declaredDead,
    };
    tell({ type: "answer", request, facts, ...(value === undefined ? {} : { value }) });
  }

  // Points --------------------------------------------------------------------------------------------------------------

  #reach(points: readonly Point[]): void {
    const armed = this.#armed;
    if (!armed || !points.includes(armed.point)) return;
    if (armed.skip > 0) {
      armed.skip -= 1;
      return;
    }
    this.#armed = undefined;
    writeSync(POINT_FD, `${armed.point}\n`);
    if (armed.action === "tell") return;
    process.kill(process.pid, armed.action === "kill" ? "SIGKILL" : "SIGSTOP");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STOPPING_MS);
  }

  #before(call: StoreMoment): void {
    const { method, params } = call;
    if (method === "workers.heartbeat" || method === "workers.register") this.#sent.set(params, performance.now());
    this.#reach(pointsBefore(call, this.#draining));
  }

  #after(call: StoreMoment): void {
    const { method, params, result } = call;
    this.#holds.note(method, params, result, this.#worker?.workerId);
    this.#reach(pointsAfter(call));
    if (method === "runs.claim")
      for (const run of (result as { runs: Run[] }).runs) this.#epochs.set(run.runId, run.epoch);
    if (method === "runs.start")
      for (const { run } of (result as { outcomes: { run: Run | null }[] }).outcomes)
        if (run?.epoch === 1 && run.heldBy !== null) this.#epochs.set(run.runId, run.epoch);
    if (method === "workers.heartbeat" || method === "workers.register")
      this.#noteLease(params, result as { live: boolean });
    if (method === "runs.commit") this.#noteCommit(params, result as CommitRunsResult);
    if (method === "tasks.beat") this.#effects.append(linesOfBeat(params, result as BeatTasksResult));
    if (method === "tasks.finish") {
      const { outcomes } = result as FinishTasksResult;
      this.#refusedWrites += outcomes.filter(({ outcome }) => outcome === "lost").length;
      this.#effects.append(linesOfFinish(params, result as FinishTasksResult));
    }
  }

  #noteLease(params: HeartbeatParams, { live }: { readonly live: boolean }): void {
    const sentAt = this.#sent.get(params) ?? 0;
    this.#sent.delete(params);
    if (!live) this.#declaredDead += 1;
    else if (this.#leaseEndsAt === Number.POSITIVE_INFINITY) this.#leaseEndsAt = sentAt + setup.leaseMs;
    else this.#leaseEndsAt = Math.max(this.#leaseEndsAt, sentAt + setup.leaseMs);
  }

  #noteCommit(params: CommitRunsParams, result: CommitRunsResult): void {
    this.#refusedWrites += result.outcomes.filter(({ outcome }) => outcome === "lost").length;
    this.#effects.append(linesOfCommit(params, result));
    const reached = pointsReached(params, result);
    // The run sleeps, waits or backs off in this process only once the engine has processed the answer.
    if (reached.length > 0) setImmediate(() => setImmediate(() => this.#reach(reached)));
  }

  // Steps and tasks -----------------------------------------------------------------------------------------------------

  #taskSite({ runId, seq, op, epoch }: Task, { attempt, lastDetails }: TaskInfo): EffectSite {
    const details = typeof lastDetails === "number" ? { details: lastDetails } : {};
    return this.#site({ run: runId, op, attempt, epoch, task: seq }, details);
  }

  #site(of: Omit<EffectLine, "phase" | "at" | "pid">, known: Partial<EffectLine> = {}): EffectSite {
    const line = (phase: EffectLine["phase"]): EffectLine => ({ phase, at: Date.now(), pid: process.pid, ...of });
    return {
      begin: (plan) => {
        this.#executions += 1;
        const token = `${process.pid}.${this.#executions}.${of.epoch}`;
        const lateMs = Math.round(performance.now() - this.#leaseEndsAt);
        const { seen, undoable, once } = plan;
        const about = {
          ...(undoable ? { undoable } : {}),
          ...(once ? { once } : {}),
          ...(lateMs > 0 ? { lateMs } : {}),
          ...known,
        };
        this.#effects.append([{ ...line("begin"), token, seen, ...about }]);
        return token;
      },
      middle: (plan) => this.#middle(plan, of.task === undefined ? "in-step" : "in-task"),
      end: (token) => this.#effects.append([{ ...line("end"), token }]),
    };
  }

  async #middle({ deadly, gated, dwellMs }: EffectPlan, point: Point): Promise<void> {
    if (deadly) {
      writeSync(POINT_FD, "poison\n");
      process.kill(process.pid, "SIGKILL");
    }
    if (gated && setup.gated) await this.#gate;
    const rest = (dwellMs ?? 0) / 2;
    await pause(rest);
    this.#reach([point]);
    await pause(rest);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function tell(message: FromWorker): void {
  process.send?.(message);
}

function failed(request: number | null): (error: unknown) => void {
  return (error) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    tell({ type: "failed", request, error: text, ...(isHoldfastError(error) ? { code: error.code } : {}) });
  };
}

process.on("disconnect", () => process.exit(0));
const own = new WorkerProcess();
process.on("message", (message: ToWorker) => {
  own.take(message).catch(failed("request" in message ? message.request : null));
});
// A process that cannot open the store is useless: the next one may find it available again.
own.start().catch((error: unknown) => {
  failed(null)(error);
  setImmediate(() => process.exit(1));
});
