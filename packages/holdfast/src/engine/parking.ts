import type { HoldfastError } from "../errors/holdfast-error.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { Transition } from "../ports/store.ts";
import type { ExecutorHost } from "./executor-host.ts";
import { type Explanation, foreignAwait } from "./explanations.ts";
import type { RunCommits } from "./run-commits.ts";
import type { RunExecutor } from "./run-executor.ts";
import type { WorkflowCode } from "./workflow-registry.ts";

/** Codes of what other code may be able to deal with. */
const FIXABLE: ReadonlySet<string | undefined> = new Set(["workflow_bug", "replay_divergence"]);

/** Whether one live run is to be parked, and why: nothing here can go on with it. */
export class Parking {
  readonly #host: ExecutorHost;
  readonly #code: WorkflowCode;
  readonly #run: RunExecutor;
  readonly #commits: RunCommits;
  #explaining = false;
  #error: ErrorRecord | undefined;

  constructor(host: ExecutorHost, code: WorkflowCode, run: RunExecutor, commits: RunCommits) {
    this.#host = host;
    this.#code = code;
    this.#run = run;
    this.#commits = commits;
  }

  /** Whether something is wrong with the run, even if it is not known yet what. */
  get begun(): boolean {
    return this.#explaining || this.#error !== undefined;
  }

  /** Whether the run is to be parked with its next commit. */
  get decided(): boolean {
    return this.#error !== undefined;
  }

  /** Undefined unless it is decided. A deployment of other code may take the run up, if it was the code's fault. */
  transition(): Transition | undefined {
    const error = this.#error;
    return error && { type: "park", error, ...(FIXABLE.has(error.code) ? { code: this.#code.identity } : {}) };
  }

  /** The code has done what it must not. */
  violated(violation: HoldfastError): void {
    // What the code does meanwhile comes from the same mistake.
    if (this.#explaining) return;
    if (violation.code === "foreign_await") this.explain(foreignAwait, violation.cause);
    else this.park(violation);
  }

  /** What it takes time to find out about. Until it is known, nothing is delivered, and the run stays here. */
  explain(explain: Explanation, cause?: unknown): void {
    if (this.#explaining) return;
    this.#explaining = true;
    const { machine } = this.#run;
    const about = { machine, definedAt: this.#code.definedAt, unwritten: this.#commits.unwritten(machine), cause };
    void explain(about, this.#host).then((error) => this.park(error));
  }

  park(error: HoldfastError): void {
    if (this.#error || this.#run.state !== "held") return;
    this.#error = this.#host.record(error);
    this.#run.halt(error);
    if (!this.#commits.writing) this.#host.committer.request(this.#run);
  }

  /** The run was let go of before it could be parked. */
  forget(): void {
    this.#error = undefined;
    this.#explaining = false;
  }
}
