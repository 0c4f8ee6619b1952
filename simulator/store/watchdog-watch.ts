import type { MemoryState } from "../../packages/holdfast/src/memory/state.ts";
import type {
  DeliverMessagesParams,
  FinishTasksParams,
  FinishTasksResult,
  RestartOutcome,
  RestartParams,
} from "../../packages/holdfast/src/ports/store.ts";
import type { StoreMethod } from "../../packages/holdfast/src/ports/store-calls.ts";
import type { Found } from "../evidence.ts";

/** What was last written of a run, and when, by the store's clock. */
interface Stand {
  readonly mark: string;
  readonly at: number;
  readonly elapsedMs: number;
}

/** Looks at every action of a watchdog: it takes the run from its holder, is in the history, and is for a run that had not moved. */
export class WatchdogWatch {
  readonly faults: Found[] = [];
  /** After what time watchdogs act; 0: they do not. */
  afterMs = 0;
  /** How many actions there were. */
  count = 0;
  readonly #state: MemoryState;
  readonly #stands = new Map<string, Stand>();

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async around(
    method: StoreMethod,
    params: unknown,
    { now, jumpedAt, elapsedMs }: { readonly now: number; readonly jumpedAt: number; readonly elapsedMs: number },
    call: () => Promise<unknown>,
  ): Promise<unknown> {
    if (method === "inbox.deliver") this.#lookAtMessages(params as DeliverMessagesParams);
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
    if (stand && jumpedAt < stand.elapsedMs && age < this.afterMs)
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

  #note(now: number, elapsedMs: number): void {
    for (const { runId, epoch, commit } of this.#state.runs.values()) {
      const mark = `${epoch}/${commit}`;
      if (this.#stands.get(runId)?.mark === mark) continue;
      this.#stands.set(runId, { mark, at: now, elapsedMs });
      const last = this.#state.events.get(runId)?.at(-1);
      this.#restarts.set(runId, { epoch, noted: last?.type === "run_restarted" && last.meta?.by === "watchdog" });
    }
  }

  #lookAtMessages({ messages }: DeliverMessagesParams): void {
    for (const { kind, messageId, to } of messages)
      if (kind === "cancel" && messageId.startsWith("\twatchdog\t"))
        this.faults.push({ runId: "runId" in to ? to.runId : to.id, text: "is canceled by a rule that is on trial" });
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
