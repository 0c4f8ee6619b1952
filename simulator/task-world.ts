/** What tasks do to the outside world, and what the store knew of them when they began. */
import { jsonCodec } from "../packages/holdfast/src/codec/json-codec.ts";
import { NonRetryableError } from "../packages/holdfast/src/errors/step-errors.ts";
import type { Payload } from "../packages/holdfast/src/model/payload.ts";
import { offeredLabels } from "../packages/holdfast/src/model/task.ts";
import { readToken, type TaskToken } from "../packages/holdfast/src/model/task-token.ts";
import type { TaskInfo } from "../packages/holdfast/src/replay/ops/task-options.ts";
import { knownTasks, type Skills } from "./crew.ts";
import { never, type SimProcess } from "./process.ts";
import type { SimStore } from "./store/sim-store.ts";
import type { Execution, TaskSnapshot } from "./task-evidence.ts";
import type { Trace } from "./trace.ts";
import type { TaskPlan } from "./workload/task.ts";
import type { TaskWork } from "./workload/task-definitions.ts";

export class TaskWorld {
  readonly executions: Execution[] = [];
  mended = false;
  readonly #store: SimStore;
  readonly #trace: Trace;
  /** How far two clocks may drift apart within a lease. */
  readonly #toleranceMs: number;
  readonly #counts = new Map<string, number>();
  #values = 0;

  constructor(store: SimStore, trace: Trace, toleranceMs: number) {
    this.#store = store;
    this.#trace = trace;
    this.#toleranceMs = toleranceMs;
  }

  work(process: SimProcess, skills: Skills): TaskWork {
    return ({ plan }, info) => this.#perform(process, skills, plan, info);
  }

  async #perform(process: SimProcess, skills: Skills, plan: TaskPlan, info: TaskInfo): Promise<string> {
    process.use();
    if (process.dead) return never();
    const execution = this.#begin(process, skills, plan, info);
    const { runId, op } = execution;
    if (this.#count(`kills ${runId} ${op}`, plan.kills ?? 0)) {
      process.kill();
      return never();
    }
    const signal = plan.heeds ? info.signal : undefined;
    if (this.#count(`stalls ${runId} ${op}`, plan.stalls)) return stall(signal);
    for (let beat = 0; beat < plan.beats; beat++) {
      if (plan.ms > 0) await process.wait(plan.ms / (plan.beats + 1), signal);
      await this.#beat(process, execution, info);
    }
    if (plan.ms > 0) await process.wait(plan.ms / (plan.beats + 1), signal);
    return this.#finish(process, plan, execution, info);
  }

  async #beat(process: SimProcess, execution: Execution, info: TaskInfo): Promise<void> {
    process.use();
    if (process.dead) return never();
    const details = `${execution.op}/beat ${++this.#values}`;
    execution.beats.push(details);
    const heard = info.heartbeat(details);
    if (this.#values % 2 === 0) await heard;
  }

  #finish(process: SimProcess, plan: TaskPlan, execution: Execution, info: TaskInfo): Promise<string> | string {
    process.use();
    if (process.dead) return never();
    const { attempt, seq, epoch } = execution;
    if (attempt <= plan.failures || (plan.untilMended && !this.mended)) {
      this.#note(execution, "fails");
      const message = `${plan.op} fails at attempt ${attempt}`;
      throw plan.fatal ? new NonRetryableError(message) : new Error(message);
    }
    if (plan.later) {
      this.#note(execution, "is completed later");
      return info.completeLater();
    }
    execution.value = `${plan.op}/${seq}.${epoch}/${attempt}/${++this.#values}`;
    this.#note(execution, "done");
    return execution.value;
  }

  #begin(process: SimProcess, skills: Skills, plan: TaskPlan, info: TaskInfo): Execution {
    const { runId, seq, epoch } = readToken(info.token) as TaskToken;
    const workerId = process.worker?.workerId ?? "";
    const hold = this.#store.taskWatch.holdOf(runId, seq, epoch);
    const execution: Execution = {
      at: this.#store.time.elapsedMs,
      process: process.name,
      workerId,
      runId,
      seq,
      epoch,
      op: plan.op,
      attempt: info.attempt,
      attemptsMax: plan.attempts,
      once: plan.once === true,
      beats: [],
      durable: (this.#store.memory.state.runs.get(runId)?.eventCount ?? 0) >= seq,
      hold,
      lastDetails: info.lastDetails,
      storedDetails: this.#store.taskWatch.detailsOf(runId, seq, epoch).map(decoded),
      company: hold?.alone ? process.company(0, 1) : undefined,
      trespass: misfit(skills, hold) ?? this.#trespass(workerId, hold),
    };
    this.executions.push(execution);
    this.#note(execution, "begins");
    return execution;
  }

  /** Why the worker may not begin anything now. */
  #trespass(workerId: string, hold: TaskSnapshot | undefined): string | undefined {
    if (hold && hold.heldBy !== workerId) return `worker ${hold.heldBy} took it`;
    const worker = this.#store.memory.state.workers.get(workerId);
    if (!worker) return "its worker is not known to the store";
    if (!worker.died) return undefined;
    const { jumpedAt, jumpedMs, time } = this.#store;
    const jumped = time.elapsedMs - jumpedAt < 2 * worker.leaseMs ? jumpedMs : 0;
    const lateMs = this.#store.now() - worker.leaseExpiresAt;
    return lateMs <= this.#toleranceMs + jumped ? undefined : `its lease expired ${lateMs} ms ago`;
  }

  /** Whether this has happened fewer times than it should. */
  #count(what: string, times: number): boolean {
    const count = this.#counts.get(what) ?? 0;
    if (count >= times) return false;
    this.#counts.set(what, count + 1);
    return true;
  }

  #note({ process, runId, op, seq, epoch, attempt }: Execution, what: string): void {
    this.#trace.add(this.#store.time.elapsedMs, process, runId, `${op} (${seq}.${epoch}) attempt ${attempt} ${what}`);
  }
}

/** Hangs until it is aborted. */
function stall(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
}

/** Why a worker with these skills cannot do the task. */
function misfit(skills: Skills, hold: TaskSnapshot | undefined): string | undefined {
  if (!hold) return undefined;
  const { name, queue, requires } = hold;
  if (knownTasks(skills, [name]).length === 0) return "its worker does not have its code";
  if (!skills.queues.includes(queue)) return `its worker does not serve queue ${queue}`;
  const labels = offeredLabels(skills.labels);
  const missing = requires.filter((label) => !labels.includes(label));
  return missing.length === 0 ? undefined : `its worker lacks ${missing.join(", ")}`;
}

/** Details as an attempt is told them. */
function decoded(details: Payload | null): unknown {
  return details === null ? undefined : jsonCodec.decode(details);
}
