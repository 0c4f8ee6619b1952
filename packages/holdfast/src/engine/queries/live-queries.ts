/**
 * Queries that a run answers itself, because a worker of this process holds it. The handler is called while the code is at
 * rest, and its answer is kept until everything that the code had seen is durable: an answer is an effect like any other. If
 * the turns that it saw are taken back before, it is given anew. It is given one macrotask after the handler was called: by
 * then it is known whether the handler has changed the run, which then continues from its history.
 */
import type { Payload } from "../../model/payload.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Machine } from "../../replay/machine.ts";
import type { RunExecutor } from "../execute/run-executor.ts";

interface Answered {
  readonly machine: Machine;
  /** The last event that the code had seen. */
  readonly seq: number;
  readonly give: () => void;
  /** Whether everything that the handler may have woken has come to rest. */
  rested: boolean;
}

interface Waiting {
  readonly executor: RunExecutor;
  readonly name: string;
  readonly argument: Payload;
  answered: Answered | undefined;
  readonly resolve: (answer: Payload | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class LiveQueries {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: the run has left this worker before it could answer. */
  ask(executor: RunExecutor, name: string, argument: Payload): Promise<Payload | undefined> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { executor, name, argument, answered: undefined, resolve, reject };
      const others = this.#waiting.get(executor.runId);
      if (others) others.add(waiting);
      else this.#waiting.set(executor.runId, new Set([waiting]));
      this.#attend(waiting);
    });
  }

  /** A commit of the run was answered, and the run stays here. */
  kept(runId: string): void {
    const waiting = this.#waiting.get(runId);
    if (waiting) for (const one of [...waiting]) this.#attend(one);
  }

  /** The run is no longer held. */
  left(runId: string): void {
    for (const waiting of this.#waiting.get(runId) ?? []) waiting.resolve(undefined);
    this.#waiting.delete(runId);
  }

  #attend(waiting: Waiting): void {
    const { executor, answered } = waiting;
    const { machine } = executor;
    if (!this.#waiting.get(executor.runId)?.has(waiting)) return;
    if (!executor.here || machine.divergence || machine.violation)
      return this.#settle(waiting, () => waiting.resolve(undefined));
    // While it is given up, others may have it already, and have told somebody more than is known here: the answer decides.
    if (!executor.keeps(executor.run.epoch)) return;
    const atRest = machine.started && !machine.inTurn && !machine.replaying;
    // A turn is over in the next macrotask, and so is each turn of a replay.
    if (!atRest) return this.#clock.immediate(() => this.#attend(waiting));
    if (answered?.machine !== machine) return this.#call(waiting, machine);
    const { seq, give, rested } = answered;
    if (rested && (executor.look()?.durableSeq ?? -1) >= seq) this.#settle(waiting, give);
  }

  #call(waiting: Waiting, machine: Machine): void {
    const answered = answer(machine, waiting);
    waiting.answered = answered;
    this.#clock.immediate(() => {
      answered.rested = true;
      try {
        machine.rested();
      } catch (error) {
        return this.#settle(waiting, () => waiting.reject(error));
      }
      this.#attend(waiting);
    });
  }

  #settle(waiting: Waiting, give: () => void): void {
    const { runId } = waiting.executor;
    const others = this.#waiting.get(runId);
    others?.delete(waiting);
    if (others?.size === 0) this.#waiting.delete(runId);
    give();
  }
}

function answer(machine: Machine, { name, argument, resolve, reject }: Waiting): Answered {
  const seq = machine.nextSeq - 1;
  try {
    const payload = machine.query(name, argument);
    return { machine, seq, give: () => resolve(payload), rested: false };
  } catch (error) {
    return { machine, seq, give: () => reject(error), rested: false };
  }
}
