import type { MemoryState } from "../../packages/holdfast/src/memory/state.ts";
import type {
  DeliverMessagesParams,
  DeliverMessagesResult,
  FinishTasksParams,
  FinishTasksResult,
  RestartOutcome,
  RestartParams,
} from "../../packages/holdfast/src/ports/store.ts";
import type { StoreMethod } from "../../packages/holdfast/src/ports/store-calls.ts";
import type { WorkloadSettings } from "../configuration.ts";
import type { Found } from "../evidence.ts";

/** What was last written of a run, and when, by the store's clock. */
interface Stand {
  readonly mark: string;
  readonly at: number;
  readonly elapsedMs: number;
}

/** When a call takes effect, by the store's clock, and when that was set last. */
interface Moment {
  readonly now: number;
  readonly jumpedAt: number;
  readonly elapsedMs: number;
}

/** Looks at every action of a watchdog: it takes the run from its holder, is in the history, and is for a run that had not moved. */
export class WatchdogWatch {
  readonly faults: Found[] = [];
  #afterMs = 0;
  #mayCancel = false;
  /** How many actions there were. */
  count = 0;
  readonly #state: MemoryState;
  readonly #stands = new Map<string, Stand>();

  constructor(state: MemoryState) {
    this.#state = state;
  }

  /** After what time watchdogs act, and whether they cancel runs. */
  expect({ watchdogMs, watchdogCancels }: Pick<WorkloadSettings, "watchdogMs" | "watchdogCancels">): void {
    this.#afterMs = watchdogMs;
    this.#mayCancel = watchdogCancels;
  }

  /** There are watchdogs. */
  get expected(): boolean {
    return this.#afterMs > 0;
  }

  async around(
    method: StoreMethod,
    params: unknown,
    { now, jumpedAt, elapsedMs }: Moment,
    call: () => Promise<unknown>,
  ): Promise<unknown> {
    if (method === "inbox.deliver")
      return this.#aroundMessages(params as DeliverMessagesParams, { now, jumpedAt, elapsedMs }, call);
    const runId = method === "runs.restartIfHeld" ? (params as RestartParams).runId : undefined;
    const before = runId === undefined ? undefined : { ...this.#state.runs.get(runId) };
    const stand = runId === undefined ? undefined : this.#stands.get(runId);
    // The memory store takes effect at once: what follows is its state after this very call.
    const answer = call();
    this.#note(now, elapsedMs);
    const result = await answer;
    if (method === "tasks.finish") this.#lookAtOrders(params as FinishTasksParams, result as FinishTasksResult);
    if (!runId || !before || (result as RestartOutcome).outcome !== "restarted") return result;
    this.count += 1;
    this.#taken.add(`${runId}/${before.heldBy}`);
    const fault = (text: string): void => void this.faults.push({ runId, text });
    const { epoch, commit } = params as RestartParams;
    if (before.epoch !== epoch || before.commit !== commit) fault("was restarted, but had moved since it was found");
    const age = stand ? now - stand.at : Number.POSITIVE_INFINITY;
    // By a clock that is set, it may seem to have waited longer.
    if (stand && jumpedAt < stand.elapsedMs && age < this.#afterMs)
      fault(`was restarted ${age} ms after its last record`);
    const row = this.#restarts.get(runId);
    if (row?.epoch !== epoch + 1) fault("was restarted without taking the epoch on");
    if (!row?.noted) fault("was restarted, and that is not in its history");
    return result;
  }

  /** Whether the run was taken from that worker, which learns of it later. */
  hasTaken(runId: string, workerId: string): boolean {
    return this.#taken.has(`${runId}/${workerId}`);
  }

  readonly #taken = new Set<string>();

  /** How runs stood right after their restarts. */
  readonly #restarts = new Map<string, { readonly epoch: number; readonly noted: boolean }>();

  /** Since when runs have had their epochs. */
  readonly #holds = new Map<string, Stand>();

  #note(now: number, elapsedMs: number): void {
    for (const { runId, epoch, commit } of this.#state.runs.values()) {
      if (this.#holds.get(runId)?.mark !== `${epoch}`) this.#holds.set(runId, { mark: `${epoch}`, at: now, elapsedMs });
      const mark = `${epoch}/${commit}`;
      if (this.#stands.get(runId)?.mark === mark) continue;
      this.#stands.set(runId, { mark, at: now, elapsedMs });
      const last = this.#state.events.get(runId)?.at(-1);
      this.#restarts.set(runId, { epoch, noted: last?.type === "run_restarted" && last.meta?.by === "watchdog" });
    }
  }

  /** A cancel is for the run as its holder had it: held since the time after which the rule acts. */
  async #aroundMessages(params: DeliverMessagesParams, at: Moment, call: () => Promise<unknown>): Promise<unknown> {
    const cancels = params.messages.map(({ kind, messageId, to }) => {
      if (kind !== "cancel" || !messageId.startsWith("\twatchdog\t") || !("runId" in to)) return undefined;
      const row = this.#state.runs.get(to.runId as string);
      // As it was found.
      const epoch = Number(messageId.split("\t").at(-1));
      return { runId: to.runId as string, epoch, was: row?.epoch, held: this.#holds.get(to.runId as string) };
    });
    const answer = call();
    this.#note(at.now, at.elapsedMs);
    const { outcomes } = (await answer) as DeliverMessagesResult;
    cancels.forEach((cancel, i) => {
      if (!cancel || outcomes[i]?.outcome !== "delivered") return;
      const { runId, epoch, was, held } = cancel;
      this.count += 1;
      const fault = (text: string): void => void this.faults.push({ runId, text: `is canceled ${text}` });
      if (!this.#mayCancel) fault("by a rule that is on trial");
      if (was !== epoch) fault(`although it was taken on since it was found: ${epoch}, now ${was}`);
      const age = held ? at.now - held.at : Number.POSITIVE_INFINITY;
      if (held && at.jumpedAt < held.elapsedMs && age < this.#afterMs) fault(`${age} ms after its holder took it`);
    });
    return answer;
  }

  #lookAtOrders({ finishes }: FinishTasksParams, { outcomes }: FinishTasksResult): void {
    finishes.forEach(({ by, runId, seq, epoch }, i) => {
      if (by.type !== "order" || outcomes[i]?.outcome !== "done") return;
      this.count += 1;
      const chain = this.#state.runs.get(runId)?.firstRunId ?? "";
      const told = this.#state.messageIds.get(chain)?.has(`\twatchdog\ttask\t${runId}\t${seq}\t${epoch}`);
      if (!told) this.faults.push({ runId, text: `an attempt of task ${seq} was ended, and the run was not told` });
    });
  }
}
