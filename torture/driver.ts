/** The outside world: starts runs, signals and cancels them, and waits for their ends, asking as often as necessary. */
import { isHoldfastError, type RunHandle } from "holdfast";
import type { StartedRun } from "./evidence.ts";
import { resumeParked } from "./quiet.ts";
import { type Said, Talker } from "./say.ts";
import { type Answer, TokenClerk } from "./token-clerk.ts";
import type { TortureClient } from "./torture-client.ts";
import type { TorturedWorker } from "./tortured-worker.ts";
import { nudge, type PlannedAnswer, type Workload } from "./workload.ts";

const RETRY_MS = 100;
/** How long to wait for an end before checking why it does not come. */
const LOOK_MS = 4_000;

export class Driver {
  readonly started: StartedRun[] = [];
  /** Runs that were parked because their workers died too often, and then resumed: not the runs' fault. */
  resumed = 0;
  /** Answers that it did not expect. */
  readonly complaints: string[] = [];
  /** Dead letters that were taken up again because the workers of their tasks died too often. */
  retried = 0;
  readonly #torture: TortureClient;
  readonly #clerk: TokenClerk;
  readonly #talker: Talker;
  readonly #open = new Map<string, Promise<void>>();
  #givenUp = false;

  /** `processes`: those through which tasks may be finished, and runs talked to. */
  constructor(torture: TortureClient, processes: () => readonly TorturedWorker[] = () => []) {
    this.#torture = torture;
    this.#clerk = new TokenClerk(torture, processes);
    this.#talker = new Talker(torture.client, processes);
  }

  get said(): readonly Said[] {
    return this.#talker.said;
  }

  get answers(): readonly Answer[] {
    return this.#clerk.answers;
  }

  get open(): number {
    return this.#open.size;
  }

  /**
   * Starts a run and does what its workload expects of the outside world. If a worker process is given, the run starts
   * through it, and that process holds the run from the start; if the process dies meanwhile, the start is repeated
   * from here.
   */
  begin(workload: Workload, n: number, id: string, through?: TorturedWorker): void {
    const life = this.#live(workload, n, id, through).finally(() => this.#open.delete(id));
    life.catch((error: unknown) => {
      if (!this.#givenUp) this.complaints.push(`${id}: ${error instanceof Error ? error.stack : String(error)}`);
    });
    this.#open.set(id, life);
  }

  /** Waits until every run that was started has ended; false if some have not within the limit. */
  untilEnded(limitMs: number): Promise<boolean> {
    return within(
      limitMs,
      Promise.all(this.#open.values()).then(() => true),
    );
  }

  /** Waits until fewer than `most` runs are open, or the limit has passed. */
  async untilRoom(most: number, limitMs: number): Promise<void> {
    if (this.#open.size >= most)
      await within(
        limitMs,
        Promise.race(this.#open.values()).then(() => true),
      );
  }

  /** Stops asking; runs that have not ended stay as they are. */
  giveUp(): void {
    this.#givenUp = true;
    this.#talker.giveUp();
  }

  async #live(workload: Workload, n: number, id: string, through: TorturedWorker | undefined): Promise<void> {
    const { definition, end, signals, cancelAfterMs, terminateAfterMs, answers, repaired } = workload;
    if (workload.begunBySaying) return this.#talk(workload, n, id);
    if (through) await through.start([{ workflow: definition.name, id, input: n }]).catch(() => {});
    const run: RunHandle = await this.#insist(() => this.#torture.client.start(definition, n, { id }));
    this.started.push({ id, expected: end(n) }, ...(workload.members?.(n, id) ?? []));
    for (const sent of signals?.(n) ?? []) await this.#insist(() => run.signal(nudge, sent, { id: sent.token }));
    if (cancelAfterMs) {
      await pause(cancelAfterMs(n));
      await this.#insist(() => run.cancel("as planned"));
    }
    if (terminateAfterMs) {
      await pause(terminateAfterMs(n));
      await this.#insist(() => run.terminate("as planned"));
    }
    if (workload.says) await this.#talk(workload, n, id);
    let before: string | undefined;
    for (const planned of answers?.(n) ?? []) before = await this.#answer(run, planned, before);
    await this.#untilEnded(run);
    if (repaired) await this.#takeUp(run);
    while (end(n).status === "completed" && (await this.#diedOfDeaths(run))) {
      this.retried += 1;
      await this.#takeUp(run);
    }
  }

  /** Says what clients have to say to the run, waits for its end, and asks for every answer once more. */
  async #talk({ definition, end, says, begunBySaying }: Workload, n: number, id: string): Promise<void> {
    const lists = says?.(n) ?? [];
    const orders = lists.map((list) => list.map((one) => ({ ...one, workflow: definition.name, id, input: n })));
    const tellAll = async (list: (typeof orders)[number]): Promise<void> => {
      for (const order of list) await this.#talker.tell(order);
    };
    await Promise.all(orders.map(tellAll));
    await this.#talker.untilAnswered();
    if (begunBySaying) this.started.push({ id, expected: end(n) });
    await this.#untilEnded(this.#torture.client.get(id));
    for (const order of orders.flat()) await this.#talker.again(order);
  }

  /** Waits for a task that can be answered; returns its token. */
  async #answer(run: RunHandle, planned: PlannedAnswer, before: string | undefined): Promise<string | undefined> {
    while (!this.#givenUp) {
      const token = await this.#insist(() => this.#clerk.find(run.runId, before));
      if (token !== undefined) {
        while (!(await this.#clerk.give(token, planned)) && !this.#givenUp) await pause(RETRY_MS);
        return token;
      }
      if ((await this.#insist(() => run.describe())).endedAt) return undefined;
      await pause(RETRY_MS);
    }
    return undefined;
  }

  /** The workers of a task died so often that it failed: not its fault. */
  async #diedOfDeaths(run: RunHandle): Promise<boolean> {
    const { status, error } = await this.#insist(() => run.describe());
    return !this.#givenUp && status === "failed" && error?.code === "task_crashed";
  }

  /** Takes the dead letters of a failed run up again, and waits for its end. */
  async #takeUp(run: RunHandle): Promise<void> {
    const { tasks } = this.#torture.client;
    const dead = await this.#insist(() => tasks.list({ runId: run.runId, status: "dead" }));
    const token = dead.tasks.at(-1)?.token;
    if (token === undefined) return;
    await this.#insist(() => tasks.retry(token)).catch((error: unknown) => {
      // An earlier call without an answer has done it.
      if (!isHoldfastError(error, "run_not_failed") && !isHoldfastError(error, "task_closed")) throw error;
    });
    await this.#untilEnded(run);
  }

  async #untilEnded(run: RunHandle): Promise<void> {
    while (!this.#givenUp) {
      try {
        await run.result({ timeout: { milliseconds: LOOK_MS }, onParked: "wait" });
        return;
      } catch (error) {
        if (isHoldfastError(error, "result_timeout")) await this.#resumeParked();
        else if (isAway(error)) await pause(RETRY_MS);
        else return; // it has ended, but did not complete; the judge decides whether it should have
      }
    }
  }

  /** This run, or one that it waits for. */
  async #resumeParked(): Promise<void> {
    this.resumed += await this.#insist(() => resumeParked(this.#torture));
  }

  async #insist<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!isAway(error) || this.#givenUp) throw error;
        await pause(RETRY_MS);
      }
    }
  }
}

function isAway(error: unknown): boolean {
  return isHoldfastError(error, "store_unavailable") || isHoldfastError(error, "store_outcome_unknown");
}

async function within(limitMs: number, promise: Promise<true>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
