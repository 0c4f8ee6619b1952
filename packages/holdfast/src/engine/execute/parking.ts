import type { ErrorCode } from "../../errors/codes.ts";
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { describeValue } from "../../errors/safe-read.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import type { HistoryEvent } from "../../model/event.ts";
import { NONE } from "../../model/short-list.ts";
import type { Transition } from "../../ports/store.ts";
import type { Machine } from "../../replay/machine.ts";
import type { WorkflowCode } from "../code/workflow-registry.ts";
import type { Committable } from "../commit/committer.ts";
import type { RunCommits } from "../commit/run-commits.ts";
import type { ExecutorHost } from "./executor-host.ts";
import { type Explanation, foreignAwait } from "./explanations.ts";
import type { RunPhase } from "./run-phase.ts";

/** Codes that another deployment may be able to fix: other code, or the same with another key. */
const FIXABLE: ReadonlySet<string | undefined> = new Set(["workflow_bug", "replay_divergence", "codec_key_missing"]);

/** A live run that may have to be parked. */
export interface Parkable extends Committable {
  readonly machine: Machine;
  machineFor(history: readonly HistoryEvent[], looks: boolean): Machine;
  /** Stops the steps and timers of the run. */
  halt(reason: HoldfastError): void;
}

/** Decides whether one live run must be parked, and why: no code here can continue it. */
export class Parking {
  readonly #host: ExecutorHost;
  readonly #code: WorkflowCode;
  readonly #run: Parkable;
  readonly #phase: RunPhase;
  readonly #commits: RunCommits;

  constructor(host: ExecutorHost, code: WorkflowCode, run: Parkable, phase: RunPhase, commits: RunCommits) {
    this.#host = host;
    this.#code = code;
    this.#run = run;
    this.#phase = phase;
    this.#commits = commits;
  }

  /** If the deployment was at fault, another one may take the run up, unless a person wants it to be paused. */
  transition(error: ErrorRecord): Transition {
    const fixable = FIXABLE.has(error.code) && !this.#run.machine.pausing;
    return { type: "park", error, ...(fixable ? { code: this.#code.identity } : {}) };
  }

  /** The code did something that is not allowed. */
  violated(violation: HoldfastError): void {
    // What the code does meanwhile follows from the same mistake.
    if (this.#phase.explaining) return;
    if (violation.code === "foreign_await") this.explain(foreignAwait, violation.cause);
    else this.park(violation);
  }

  /** A reason that takes time to find. Until it is known, nothing is delivered, and the run stays here. */
  explain(explain: Explanation, cause?: unknown): void {
    if (!this.#phase.here || this.#phase.inTrouble) return;
    this.#phase.explain();
    const { machine } = this.#run;
    const looking = (history: readonly HistoryEvent[]): Machine => this.#run.machineFor(history, true);
    const unwritten = this.#commits.unwritten(machine);
    const about = { machine, looking, definedAt: this.#code.definedAt, unwritten, cause };
    void explain(about, this.#host).then((error) => this.park(error));
  }

  /** Something that the run cannot get past; `code` if it is not an error of ours. */
  parkFor(error: unknown, code: ErrorCode): void {
    this.park(isHoldfastError(error) ? error : new HoldfastError(code, describeValue(error), { cause: error }));
  }

  /** Whether a turn has closed after the store refused an earlier commit. What the turn saw was not written, so neither is the turn. */
  overtook(machine: Machine): boolean {
    if (!this.#phase.parkedWith) return false;
    machine.putBack(NONE, null);
    this.#host.committer.request(this.#run);
    return true;
  }

  park(error: HoldfastError): void {
    if (!this.#phase.here || this.#phase.parkedWith) return;
    this.#phase.park(this.#host.record(error));
    this.#run.halt(error);
    if (!this.#commits.writing) this.#host.committer.request(this.#run);
  }
}
