import { retryEvent } from "../calls/retry-event.ts";
import { type JudgeHost, judgeFailure } from "../calls/task-judgment.ts";
import { toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkOptions,
  invalidOption,
  isName,
  type OptionChecks,
  oneOf,
  requireId,
  wholeNumber,
} from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import { isUuid } from "../model/ids.ts";
import { TASK_STATUSES, type Task, type TaskFailure, type TaskKey, type TaskStatus } from "../model/task.ts";
import { readToken, type TaskToken, writeToken } from "../model/task-token.ts";
import type { FinishTask, TaskResult } from "../ports/store.ts";
import type { ClientCore } from "./client-core.ts";
import { LIST_LIMIT_DEFAULT } from "./list-filter.ts";
import { RunHandle } from "./run-handle.ts";
import { movedError } from "./run-moved.ts";

const LIST_LIMIT_MAX = 1_000;

/** Which tasks `hf.tasks.list` returns. */
export interface TaskListOptions {
  /**
   * Only tasks of this name.
   * @defaultValue all
   */
  readonly name?: string;
  /**
   * Only tasks of this queue.
   * @defaultValue all
   */
  readonly queue?: string;
  /**
   * Only tasks with this status; `"dead"` are those that have failed for good.
   * @defaultValue all
   */
  readonly status?: TaskStatus;
  /**
   * Only tasks of this run.
   * @defaultValue all
   */
  readonly runId?: string;
  /**
   * The maximum number on a page, up to 1000.
   * @defaultValue `100`
   */
  readonly limit?: number;
  /**
   * The cursor of the previous page.
   * @defaultValue the first page
   */
  readonly cursor?: string;
}

/** A task that is not finished, or that has failed for good. */
export interface TaskView {
  /**
   * A secret with which others can report on the attempt that is open: a worker has it, or it is external. A server tells it to
   * writers only.
   */
  readonly token?: string;
  readonly name: string;
  readonly queue: string;
  readonly status: TaskStatus;
  readonly runId: string;
  /** The op of the run that waits for it. */
  readonly op: string;
  readonly input: unknown;
  /** The attempt that is due or in progress, from 1. */
  readonly attempt: number;
  /** When the next attempt is due. */
  readonly availableAt?: Date;
  /** The worker that has it. */
  readonly workerId?: string;
  /** Labels that a worker must have. */
  readonly requires: readonly string[];
  /** What its last heartbeat reported. */
  readonly lastDetails?: unknown;
  /** Why its last attempt failed. */
  readonly error?: TaskFailure;
  /** The failures of its attempts, the newest last. */
  readonly failures: readonly TaskFailure[];
  readonly createdAt: Date;
}

/** A page of `hf.tasks.list`. */
export interface TaskPage {
  /** In the order in which their runs were created. */
  readonly tasks: readonly TaskView[];
  /** Pass it as `cursor` for the next page; null on the last page. */
  readonly cursor: string | null;
}

const TASK_LIST_OPTIONS: OptionChecks<TaskListOptions> = {
  name: isName("task name"),
  queue: isName("queue name"),
  status: oneOf(...TASK_STATUSES),
  runId: (value) => requireId(value, "run id"),
  limit: wholeNumber(1, LIST_LIMIT_MAX),
  cursor: (value, where) => void readCursor(value, where),
};

/** Tasks: finished from outside by token, looked at, and tried again. */
export class Tasks {
  readonly #core: ClientCore;
  readonly #judge: JudgeHost;

  constructor(core: ClientCore) {
    this.#core = core;
    const { random, clock, redact } = core.ports;
    this.#judge = {
      record: (error, about) => toErrorRecord(error, redact ? { ...about, redact } : about),
      now: () => clock.now(),
      random: () => random.next(),
    };
  }

  /** The task is done: its run gets the result. Resolves when that is durable; a second completion is refused. */
  async complete(token: string, result?: unknown): Promise<void> {
    const read = requireToken(token, "tasks.complete");
    const payload = this.#core.ports.codec.encode(result, "result of the task");
    await this.#finish(read, () => ({ type: "completed", payload }));
  }

  /** The attempt has failed: it counts, and the task is tried again if its rule says so. */
  async fail(token: string, error: unknown): Promise<void> {
    const read = requireToken(token, "tasks.fail");
    const task = await this.#open(read);
    await this.#finish(read, () => judgeFailure(task, { error }, this.#judge));
  }

  /** The attempt is alive. `canceled`: its run no longer wants the result. */
  async heartbeat(token: string, details?: unknown): Promise<{ readonly canceled: boolean }> {
    const { secret, ...hold } = requireToken(token, "tasks.heartbeat");
    const { namespace, ports } = this.#core;
    const payload = details === undefined ? null : ports.codec.encode(details, "details of the heartbeat");
    const by = { type: "token", secret, finishId: "" } as const;
    const beat = { ...hold, namespace, by, details: payload };
    const { outcomes } = await this.#core.call((store) => store.tasks.beat({ beats: [beat] }));
    const [heard] = outcomes;
    if (heard?.outcome === "heard") return { canceled: heard.canceled };
    throw await this.#closedError({ ...hold, secret });
  }

  /** Tasks that are not finished, and dead letters, one page at a time. */
  async list(options: TaskListOptions = {}): Promise<TaskPage> {
    checkOptions(options, TASK_LIST_OPTIONS, "tasks.list");
    const { namespace } = this.#core;
    const { cursor, limit = LIST_LIMIT_DEFAULT, ...filter } = options;
    const after = cursor === undefined ? {} : { after: readCursor(cursor, "tasks.list") };
    const rows = await this.#core.call((store) =>
      store.tasks.list({ namespace, ...filter, ...after, limit: limit + 1 }),
    );
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      tasks: page.map((task) => this.#view(task)),
      cursor: rows.length > limit && last ? writeCursor(last) : null,
    };
  }

  /** The task of a token. */
  async get(token: string): Promise<TaskView> {
    return this.#view(await this.#read(requireToken(token, "tasks.get")));
  }

  /** Takes a dead letter up again: the run that failed on it goes on at the failed task. */
  async retry(token: string): Promise<void> {
    const task = await this.#read(requireToken(token, "tasks.retry"));
    const { runId, op } = task;
    const { namespace } = this.#core;
    const [run] = await this.#core.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
    const refused = (why: string): HoldfastError => {
      const message = `tasks.retry: task "${op}" of run ${runId} cannot be taken up again: ${why}.`;
      return new HoldfastError("run_not_failed", message, { data: { runId, status: run?.status } });
    };
    if (task.status !== "dead" || run?.status !== "failed") {
      const why = task.status === "dead" ? `its run is ${run?.status ?? "gone"}` : `it is ${task.status}`;
      throw refused(`${why}, and only the dead letter of a failed run can`);
    }
    const { meta } = retryEvent(run, await this.#core.readHistory(run));
    if (!meta?.forgets?.includes(op))
      throw refused(
        "its run has not failed on it, but went on. To continue the run where it failed, use retry() of its handle",
      );
    const { id, workflow } = run;
    await new RunHandle(this.#core, id, { runId, workflow, created: false }).retry();
  }

  async #finish(token: TaskToken, judge: () => TaskResult): Promise<void> {
    const { secret, ...hold } = token;
    const finishId = this.#core.newId();
    const by = { type: "token", secret, finishId } as const;
    const finish: FinishTask = { ...hold, namespace: this.#core.namespace, by, result: judge() };
    const { outcome } = await this.#core.untilNotBusy(async (store) => {
      const { outcomes } = await store.tasks.finish({ finishes: [finish] });
      return outcomes[0] as { readonly outcome: "done" | "lost" | "closed" | "busy" };
    });
    if (outcome === "done") return;
    // An earlier call without an answer may have done it, and the run may have consumed the result since.
    const { runId } = hold;
    const [run] = await this.#core.call((store) =>
      store.runs.read({ runs: [{ namespace: this.#core.namespace, runId }] }),
    );
    const history = run ? await this.#core.readHistory(run) : [];
    if (history.some(({ meta }) => meta?.messageId === finishId)) return;
    throw await this.#closedError(token);
  }

  /** The task of the token, if its attempt is open. */
  async #open(token: TaskToken): Promise<Task> {
    const task = await this.#find(token);
    if (task && task.epoch === token.epoch && task.status !== "dead") return task;
    throw await this.#closedError(token);
  }

  async #read(token: TaskToken): Promise<Task> {
    const task = await this.#find(token);
    if (task) return task;
    throw await this.#closedError(token);
  }

  async #find({ runId, seq, secret }: TaskToken): Promise<Task | undefined> {
    const { namespace } = this.#core;
    const [task] = await this.#core.call((store) => store.tasks.read({ namespace, tasks: [{ runId, seq }] }));
    requireSecret(task, namespace);
    return task?.secret === secret ? task : undefined;
  }

  /** A task that has been scheduled is over; of any other, the token is wrong. */
  async #closedError(token: TaskToken): Promise<HoldfastError> {
    const { runId, seq, secret } = token;
    const { namespace } = this.#core;
    const data = { runId, seq };
    const [task] = await this.#core.call((store) => store.tasks.read({ namespace, tasks: [{ runId, seq }] }));
    requireSecret(task, namespace);
    const [events] = await this.#core.call((store) =>
      store.histories.read({ runs: [{ namespace, runId, afterSeq: seq - 1 }], limitPerRun: 1 }),
    );
    const event = events?.[0];
    const known = event?.seq === seq && (event.type === "task_scheduled" || event.type === "op_rescheduled");
    if (!known || (task && task.secret !== secret)) {
      const message = `There is no task with this token in namespace "${namespace}".`;
      return new HoldfastError("task_not_found", message, { data });
    }
    const [run] = await this.#core.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
    if (run?.status === "moved") return movedError(run.id, run.error);
    const message = `The attempt of task "${event.op}" of run ${runId} that this token belongs to is over.`;
    return new HoldfastError("task_closed", message, { data });
  }

  #view(task: Task): TaskView {
    const { codec } = this.#core.ports;
    const { name, queue, status, runId, op, attempt, requires, failures, createdAt } = task;
    const open = (status === "held" || status === "external" || status === "dead") && task.secret !== "";
    const error = failures.at(-1);
    return {
      ...(open ? { token: writeToken(task) } : {}),
      name,
      queue,
      status,
      runId,
      op,
      input: task.input === null || task.input.length === 0 ? undefined : codec.decode(task.input),
      attempt,
      ...(task.availableAt === null ? {} : { availableAt: new Date(task.availableAt) }),
      ...(task.heldBy === null ? {} : { workerId: task.heldBy }),
      requires,
      ...(task.details === null ? {} : { lastDetails: codec.decode(task.details) }),
      ...(error === undefined ? {} : { error }),
      failures,
      createdAt: new Date(createdAt),
    };
  }
}

/** A server tells nobody the secret of a task who may not report on it. */
function requireSecret(task: Task | null | undefined, namespace: string): void {
  if (task?.secret !== "") return;
  const message = `This call needs the role writer in namespace "${namespace}".`;
  throw new HoldfastError("permission_denied", message, { data: { role: "writer", namespace } });
}

function requireToken(token: unknown, where: string): TaskToken {
  const read = readToken(token);
  if (read) return read;
  const fault = typeof token === "string" ? "a text that is not a token" : shownValue(token);
  throw invalidOption(where, "the token", `is ${fault}; t.token and hf.tasks.list() return tokens`);
}

function writeCursor({ runId, seq }: TaskKey): string {
  return Buffer.from(JSON.stringify([runId, seq])).toString("base64url");
}

function readCursor(cursor: unknown, where: string): TaskKey {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor as string, "base64url").toString());
    const [runId, seq] = place as [unknown, unknown];
    if (isUuid(runId) && Number.isSafeInteger(seq)) return { runId, seq: seq as number };
  } catch {
    // reported below
  }
  throw invalidOption(where, "the cursor", "was not returned by tasks.list()");
}
