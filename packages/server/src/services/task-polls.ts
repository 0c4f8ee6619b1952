/** Hands tasks to workers in other languages: claimed when somebody asks, held under the worker's own lease. */
import { create } from "@bufbuild/protobuf";
import { type PollTaskResponse, PollTaskResponseSchema, RawPayload, TaskKind, toPayload } from "@holdfast/protocol";
import {
  type ClaimTasksResult,
  type Clock,
  idempotencyKey,
  type Notifier,
  type Random,
  readToken,
  type Store,
  type Task,
  type TaskHold,
  uuidV7,
  writeToken,
} from "holdfast/adapter";
import type { Call } from "./call.ts";
import { patience } from "./long-poll.ts";
import { type Seat, seatLost } from "./worker-seats.ts";

/** Hints may be lost: a poll looks by itself this often. */
const LOOK_EVERY_MS = 5_000;

export interface TaskPollsParams {
  readonly store: Store;
  readonly notifier: Notifier;
  readonly clock: Clock;
  readonly random: Random;
}

export class TaskPolls {
  readonly #params: TaskPollsParams;

  constructor(params: TaskPollsParams) {
    this.#params = params;
  }

  /** The next task for the worker; undefined if there was none in time. */
  async next(seat: Seat, wanted: Wanted, waitMs: number, call: Call): Promise<PollTaskResponse | undefined> {
    const { clock } = this.#params;
    const until = clock.monotonic() + waitMs;
    for (let waited = false; ; waited = true) {
      // Before the claim: what becomes due while it is under way is announced.
      const hint = this.#hint(seat.namespace, wanted.queues);
      try {
        const claimed = await this.#claim(seat, wanted);
        const [task] = claimed.tasks;
        if (task) return await this.#handOver(seat, task, call);
        const leftMs = until - clock.monotonic();
        if (leftMs <= 0 || call.signal.aborted || (waited && call.draining.aborted)) return undefined;
        const dueInMs = claimed.nextDueAt === null ? LOOK_EVERY_MS : Math.max(1, claimed.nextDueAt - claimed.now);
        const wait = patience(clock, Math.min(leftMs, dueInMs, LOOK_EVERY_MS), call);
        await Promise.race([hint.came, wait.over]).finally(() => wait.end());
      } finally {
        hint.end();
      }
    }
  }

  async #claim(seat: Seat, { queues, names }: Wanted): Promise<ClaimTasksResult> {
    const claimed = await this.#claimOne(seat, queues, names, false);
    if (claimed.tasks.length > 0 || !claimed.suspectDue) return claimed;
    // A task that workers die of is given only to one that holds nothing else: it must not take others down.
    const { namespace, workerId } = seat;
    const held = await this.#params.store.workers.readHeldTasks({ namespace, workerId });
    return held.length > 0 ? claimed : this.#claimOne(seat, queues, names, true);
  }

  async #claimOne(seat: Seat, queues: readonly string[], names: readonly string[], solo: boolean) {
    const { store, clock, random } = this.#params;
    const { namespace, workerId, labels } = seat;
    const claimId = uuidV7(clock.now(), random.bytes(16));
    const asked = { namespace, workerId, claimId, queues, names, labels, limit: 1, solo };
    let claimed: ClaimTasksResult;
    try {
      claimed = await store.tasks.claim({ ...asked, again: false });
    } catch {
      // It may have happened: the same claim is found again, or made now.
      claimed = await store.tasks.claim({ ...asked, again: true });
    }
    if (!claimed.live) throw seatLost(workerId);
    return claimed;
  }

  async #handOver(seat: Seat, task: Task, { signal }: Call): Promise<PollTaskResponse | undefined> {
    if (!signal.aborted) return taskMessage(task);
    await this.#release(seat, task);
    return undefined;
  }

  /** Nobody is there to take it after all. */
  async putBack(seat: Seat, { taskToken }: PollTaskResponse): Promise<void> {
    const hold = readToken(taskToken);
    if (hold) await this.#release(seat, hold);
  }

  /** It is due again at once. */
  async #release({ namespace, workerId }: Seat, { runId, seq, epoch }: TaskHold): Promise<void> {
    const finish = {
      namespace,
      runId,
      seq,
      epoch,
      by: { type: "holder", workerId },
      result: { type: "release" },
    } as const;
    await this.#params.store.tasks.finish({ finishes: [finish] });
  }

  #hint(namespace: string, queues: readonly string[]): { readonly came: Promise<void>; end(): void } {
    let end = (): void => {};
    const came = new Promise<void>((resolve) => {
      end = this.#params.notifier.subscribe((hint) => {
        if (hint.type === "task_due" && hint.namespace === namespace && queues.includes(hint.queue)) resolve();
      });
    });
    return { came, end };
  }
}

export interface Wanted {
  readonly queues: readonly string[];
  readonly names: readonly string[];
}

function taskMessage(task: Task): PollTaskResponse {
  const { runId, op, name, input, attempt, details, spec } = task;
  const [given, last] = [input, details].map((bytes) =>
    bytes === null ? undefined : toPayload(new RawPayload(bytes)),
  );
  return create(PollTaskResponseSchema, {
    runId,
    workflowType: name,
    kind: TaskKind.TASK,
    taskToken: writeToken(task),
    attempt,
    idempotencyKey: idempotencyKey(runId, op),
    ...(given ? { input: given } : {}),
    ...(last ? { lastDetails: last } : {}),
    traceparent: spec?.trace ?? "",
    heartbeatTimeoutMs: BigInt(spec?.heartbeatMs ?? 0),
  });
}
