/** The door: how a worker answers queries. From the run itself if it holds it, else from the stored history. */
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { Payload } from "../../model/payload.ts";
import type { Run } from "../../model/run.ts";
import type { HeldRuns } from "../claim/held-runs.ts";
import type { WorkflowRegistry } from "../code/workflow-registry.ts";
import type { RunExecutor } from "../execute/run-executor.ts";
import { AskTaker } from "./ask-taker.ts";
import { LiveQueries } from "./live-queries.ts";
import { QueryReplays } from "./query-replays.ts";

export interface WorkerQueriesParams {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly registry: WorkflowRegistry;
  readonly held: HeldRuns;
  readonly active: () => boolean;
}

export class WorkerQueries {
  readonly #params: WorkerQueriesParams;
  readonly #live: LiveQueries;
  readonly #replays: QueryReplays;
  readonly #asks: AskTaker;

  constructor(params: WorkerQueriesParams) {
    this.#params = params;
    this.#live = new LiveQueries(params.ports.clock);
    this.#replays = new QueryReplays(params.ports);
    this.#asks = new AskTaker({ ...params, answer: (run, name, argument) => this.#answer(run, name, argument) });
  }

  /** The answer of a run that is held here; undefined if none is, and a promise of it if the run leaves before. */
  live(runId: string, name: string, argument: Payload): Promise<Payload | undefined> | undefined {
    const executor = this.#params.held.live(runId);
    return executor && this.#live.ask(executor, name, argument);
  }

  /** The answer from the stored history, or from the code that rests after it; undefined if the code is not here. */
  replayed(run: Run, name: string, argument: Payload): Promise<Payload> | undefined {
    const resting = this.#params.held.resting(run);
    if (resting) return this.#answerResting(resting, name, argument);
    const code = this.#params.registry.code(run.workflow, run.version);
    return code && this.#replays.answer(run, code, name, argument);
  }

  #answer(run: Run, name: string, argument: Payload): Promise<Payload> | undefined {
    if (!this.#params.registry.has(run.workflow, run.version)) return undefined;
    const live = this.live(run.runId, name, argument);
    const replayed = (): Promise<Payload> => this.replayed(run, name, argument) as Promise<Payload>;
    return live === undefined ? replayed() : live.then((answer) => answer ?? replayed());
  }

  /** The handler is called at once: before the run can wake. As for a live run, what it may have woken is waited for. */
  async #answerResting(executor: RunExecutor, name: string, argument: Payload): Promise<Payload> {
    const { ports, held } = this.#params;
    const { machine } = executor;
    try {
      return machine.query(name, argument);
    } finally {
      await new Promise<void>((resolve) => ports.clock.immediate(resolve));
      if (machine.spoiled) held.forgetResting(executor);
      machine.rested();
    }
  }

  /** A process without the code has asked something. */
  asked(): void {
    this.#asks.poke();
  }

  kept(runId: string): void {
    this.#live.kept(runId);
  }

  left(runId: string): void {
    this.#live.left(runId);
  }
}
