/** Hands out work to workers in other languages: tasks and runs, whichever comes first. */
import { create } from "@bufbuild/protobuf";
import {
  type PollTaskResponse,
  PollTaskResponseSchema,
  RawPayload,
  type Step,
  TaskKind,
  toPayload,
} from "@holdfast/protocol";
import { type Clock, traceOf } from "holdfast/adapter";
import type { Attendance, GuestRuns } from "../guests/guest-runs.ts";
import type { Call } from "./call.ts";
import { stepMessage } from "./guest-steps.ts";
import { patience } from "./long-poll.ts";
import type { TaskPolls, Wanted } from "./task-polls.ts";
import type { Seat, WorkerSeats } from "./worker-seats.ts";

/** What an answer lists of a run's steps at most: clients refuse large messages, and BeginStep knows them all. */
const STEPS_MAX = 1_000;
const STEP_BYTES_MAX = 1024 * 1024;

export interface WantedWork extends Wanted {
  /** As `type@version`. */
  readonly workflows: readonly string[];
}

type Found = { readonly run: Attendance } | { readonly task: PollTaskResponse };

export interface WorkPollsParams {
  readonly tasks: TaskPolls;
  readonly guests: GuestRuns;
  readonly seats: WorkerSeats;
  readonly clock: Clock;
}

export class WorkPolls {
  readonly #params: WorkPollsParams;

  constructor(params: WorkPollsParams) {
    this.#params = params;
  }

  /** The next task or run for the worker; undefined if there was none in time. */
  async next(seat: Seat, wanted: WantedWork, waitMs: number, call: Call): Promise<PollTaskResponse | undefined> {
    const stop = new AbortController();
    const own: Call = { ...call, signal: AbortSignal.any([call.signal, stop.signal]) };
    const runs = this.#run(seat, wanted, waitMs, own);
    const tasks = this.#task(seat, wanted, waitMs, own);
    let found: Found | undefined;
    try {
      found = await Promise.race([runs.then((run) => run ?? tasks), tasks.then((task) => task ?? runs)]);
    } finally {
      stop.abort();
      // Both may have come.
      for (const other of await Promise.allSettled([runs, tasks]))
        if (other.status === "fulfilled" && other.value !== found) await this.#putBack(seat, other.value);
    }
    if (found === undefined) return undefined;
    const goes = !call.signal.aborted && (await this.#mayHave(seat, call, found));
    if (goes) return messageOf(found);
    await this.#putBack(seat, found);
    return undefined;
  }

  /** A stream may outlive its key, and its worker's lease: then it gets nothing more, and ends. */
  async #mayHave(seat: Seat, call: Call, found: Found): Promise<boolean> {
    try {
      await call.readmit?.();
      await this.#params.seats.requireLive(seat);
      return true;
    } catch (error) {
      await this.#putBack(seat, found);
      throw error;
    }
  }

  async #run(seat: Seat, { queues, workflows }: WantedWork, waitMs: number, call: Call): Promise<Found | undefined> {
    const [queue] = queues;
    if (workflows.length === 0 || queue === undefined) return undefined;
    const wait = patience(this.#params.clock, waitMs, call);
    const key = { queue, workflows: [...new Set(workflows)].sort() };
    const run = await this.#params.guests.next(seat, key, wait.over).finally(() => wait.end());
    return run && { run };
  }

  async #task(seat: Seat, wanted: WantedWork, waitMs: number, call: Call): Promise<Found | undefined> {
    if (wanted.names.length === 0) return undefined;
    const task = await this.#params.tasks.next(seat, wanted, waitMs, call);
    return task && { task };
  }

  async #putBack(seat: Seat, found: Found | undefined): Promise<void> {
    if (found === undefined) return;
    if ("run" in found) this.#params.guests.putBack(found.run);
    else await this.#params.tasks.putBack(seat, found.task);
  }
}

function messageOf(found: Found): PollTaskResponse {
  if ("task" in found) return found.task;
  const { run: machine, token } = found.run;
  const { run } = machine;
  const input = run.input.length === 0 ? undefined : toPayload(new RawPayload(run.input));
  return create(PollTaskResponseSchema, {
    runId: run.runId,
    workflowType: run.workflow,
    version: run.version,
    externalId: run.id,
    kind: TaskKind.WORKFLOW,
    taskToken: token,
    attempt: run.epoch,
    idempotencyKey: run.runId,
    steps: firstSteps(found.run),
    traceparent: traceOf(run.seed) ?? "",
    ...(input ? { input } : {}),
  });
}

function firstSteps({ run }: Attendance): Step[] {
  const steps: Step[] = [];
  let bytes = 0;
  for (const event of run.done) {
    bytes += event.payload?.length ?? 0;
    if (steps.length >= STEPS_MAX || bytes > STEP_BYTES_MAX) break;
    steps.push(stepMessage(run, event));
  }
  return steps;
}
