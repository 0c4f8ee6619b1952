/**
 * Somebody who pauses, resumes, cancels and forks runs at random, and remembers which calls were answered. Forks are ended by the
 * same person: nobody sends them what they wait for.
 */
import type { Client } from "../packages/holdfast/src/client/client.ts";
import type { MemoryState, RunRecord } from "../packages/holdfast/src/memory/state.ts";
import { isClosed } from "../packages/holdfast/src/model/run.ts";
import type { Dice } from "./dice.ts";
import type { Found } from "./evidence.ts";
import { type Caller, insist } from "./insist.ts";
import type { Trace } from "./trace.ts";

export interface OperatorParams extends Caller {
  readonly state: MemoryState;
  readonly trace: Trace;
  readonly complain: (text: string) => void;
}

/** A call that was answered. */
interface Action {
  readonly kind: "pause" | "resume" | "cancel";
  readonly id: string;
  /** Who it was done by: another one for each call, also if a call is repeated by another process. */
  readonly by: string;
  readonly beganAt: number;
  readonly endedAt: number;
}

const ROUNDS = 20;

export class Operator {
  readonly faults: Found[] = [];
  readonly #params: OperatorParams;
  readonly #actions: Action[] = [];
  #calls = 0;
  #open = 0;

  constructor(params: OperatorParams) {
    this.#params = params;
  }

  /** How many of its calls were answered. */
  get count(): number {
    return this.#actions.length;
  }

  get busy(): boolean {
    return this.#open > 0;
  }

  /** `cancelable`: runs that are canceled anyway. */
  begin(everyMs: number, cancelable: ReadonlySet<string>, over: () => boolean): void {
    const { time, dice } = this.#params;
    const act = (): void => {
      if (over()) return;
      this.#act(cancelable);
      time.at(dice.between(0.2, 2) * everyMs, act);
    };
    time.at(dice.between(0.2, 2) * everyMs, act);
  }

  /** The same for forks, with other dice. */
  beginForks(everyMs: number, dice: Dice, over: () => boolean): void {
    const { time } = this.#params;
    const act = (): void => {
      if (over()) return this.#endForks(ROUNDS);
      this.#during("fork", this.#fork(dice));
      time.at(dice.between(0.2, 2) * everyMs, act);
    };
    time.at(dice.between(0.2, 2) * everyMs, act);
  }

  #during(what: string, call: Promise<void>): void {
    this.#open += 1;
    const done = (): void => {
      this.#open -= 1;
    };
    call.then(done, (error) => {
      done();
      this.#params.complain(`${what}: ${error}`);
    });
  }

  /** Of any run, at any place; for some time it does what it likes. */
  async #fork(dice: Dice): Promise<void> {
    const { state, time } = this.#params;
    const runs = [...state.runs.values()].filter(({ forkedFrom }) => !forkedFrom);
    if (runs.length === 0) return;
    const { id, eventCount } = runs[dice.int(0, runs.length - 1)] as RunRecord;
    const before = dice.int(1, eventCount + 1);
    const forked = await insist(
      this.#params,
      (client) => client.get(id).fork({ before, by: "operator", reason: "fork" }),
      ["fork_refused", "run_not_found"],
    );
    if (forked)
      this.#params.trace.add(time.elapsedMs, "operator", forked.value.runId, `fork of ${id} before ${before}`);
    await time.wait(dice.between(10, 3_000));
    await this.#terminateForks();
  }

  async #terminateForks(): Promise<void> {
    // They keep their id when they continue as new.
    const forks = new Set([...this.#params.state.runs.values()].flatMap((run) => (run.forkedFrom ? [run.id] : [])));
    for (const { id, status } of [...this.#params.state.runs.values()])
      if (forks.has(id) && !isClosed(status))
        await insist(this.#params, (client) => client.get(id).terminate("a fork"), ["run_not_found"]);
  }

  /** Also those of calls whose answers were lost, and which may still be on their way. */
  #endForks(rounds: number): void {
    const { time } = this.#params;
    this.#during(
      "end of forks",
      this.#terminateForks().then(() => time.wait(500)),
    );
    if (rounds > 1) time.at(500, () => this.#endForks(rounds - 1));
  }

  #act(cancelable: ReadonlySet<string>): void {
    const { state, dice, complain } = this.#params;
    const open = [...state.runs.values()].filter(({ status }) => !isClosed(status));
    if (open.length === 0) return;
    // Usually about the same few runs, so that one call meets another.
    const { id } = open[Math.min(open.length - 1, dice.int(0, 3))] as RunRecord;
    const kind = cancelable.has(id) && dice.chance(0.1) ? "cancel" : dice.pick(["pause", "pause", "resume"] as const);
    this.#open += 1;
    this.#call(kind, id).then(
      () => {
        this.#open -= 1;
      },
      (error) => {
        this.#open -= 1;
        complain(`${kind} of ${id}: ${error}`);
      },
    );
  }

  async #call(kind: Action["kind"], id: string): Promise<void> {
    const { time } = this.#params;
    let by = "";
    let beganAt = 0;
    const call = (client: Client): Promise<void> => {
      this.#calls += 1;
      by = `operator ${this.#calls}`;
      beganAt = time.elapsedMs;
      return client.get(id)[kind]({ by, reason: kind });
    };
    const done = await insist(this.#params, call, ["run_closed", "run_not_found"]);
    if (!done) return;
    const action: Action = { kind, id, by, beganAt, endedAt: time.elapsedMs };
    this.#actions.push(action);
    this.#params.trace.add(time.elapsedMs, by, undefined, `${kind} of ${id} answered`);
    if (kind === "resume") for (const row of this.#params.state.runs.values()) this.look(row);
  }

  /** A run that is paused although everybody who paused it was answered before somebody resumed it. */
  look({ id, runId, status, error }: RunRecord): void {
    const by = status === "parked" && error?.code === "paused" ? error.data?.["by"] : undefined;
    const pause = by === undefined ? undefined : this.#actions.find((one) => one.kind === "pause" && one.by === by);
    if (!pause) return;
    const resume = this.#actions.find((one) => one.kind === "resume" && one.id === id && one.beganAt > pause.endedAt);
    if (resume) this.faults.push({ runId, text: `it is paused by ${by}, although ${resume.by} has resumed it since` });
  }
}
