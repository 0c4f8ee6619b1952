/** Workers in other languages: their seats, their work, and tasks. Runs are in guest-steps.ts. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RegisterResponseSchema } from "@holdfast/protocol";
import { fromErrorDetail, type PollTaskRequest, type RegisterRequest, type WorkerService } from "@holdfast/protocol";
import {
  type Clock,
  isHoldfastError,
  type Notifier,
  type Random,
  RESERVED_PREFIX,
  type Store,
  writeToken,
} from "holdfast/adapter";
import type { GuestRuns } from "../guests/guest-runs.ts";
import { Attachment } from "./attachment.ts";
import type { Call, Handlers } from "./call.ts";
import { ForgottenTasks } from "./forgotten-tasks.ts";
import { stepHandlers } from "./guest-steps.ts";
import { pollMs } from "./long-poll.ts";
import { refused, required } from "./pages.ts";
import { receivedPayload, type WorkflowServiceParams } from "./received-payload.ts";
import { TaskPolls } from "./task-polls.ts";
import { type WantedWork, WorkPolls } from "./work-polls.ts";
import { type Seat, WorkerSeats } from "./worker-seats.ts";

const LEASE_SECS_DEFAULT = 30;
const LEASE_SECS_MIN = 5;
const LEASE_SECS_MAX = 600;
/** Three heartbeats in a lease: two may be lost. */
const HEARTBEATS_PER_LEASE = 3;
const NAMES_MAX = 1_000;
const QUEUE_DEFAULT = "default";
const VERSION_DEFAULT = "1";

export interface WorkerServiceParams extends WorkflowServiceParams {
  readonly store: Store;
  readonly notifier: Notifier;
  readonly random: Random;
  readonly clock: Clock;
  readonly guests: GuestRuns;
}

export function workerService(params: WorkerServiceParams): Handlers<typeof WorkerService> {
  const { clock, guests } = params;
  const seats = new WorkerSeats(params);
  const polls = new WorkPolls({ tasks: new TaskPolls(params), guests, seats, clock });
  const calls = { ...seatHandlers(params, seats), ...taskHandlers(params), ...stepHandlers(params) };
  return {
    ...calls,

    async pollTask(message, call) {
      const seat = await seats.findLive(call.namespace, required(message.workerId, "worker_id"));
      const wanted = wantedOf(seat, message);
      const waitMs = pollMs(message.waitMs, "wait_ms");
      guests.noteAlive(seat.workerId);
      if (seat.draining) return {};
      return (await polls.next(seat, wanted, waitMs, call)) ?? {};
    },

    async *attach(messages, call) {
      yield* new Attachment({ calls, seats, polls }, call).answers(messages);
    },
  };
}

/** What the worker asks for now, or else what it has registered with. */
function wantedOf(seat: Seat, { taskTypes, workflowTypes, taskQueue }: PollTaskRequest): WantedWork {
  const names = taskTypes.length > 0 ? taskTypes : workflowTypes.length > 0 ? [] : seat.tasks;
  const versioned = (type: string): string =>
    seat.workflows.find((named) => named.startsWith(`${type}@`)) ?? `${type}@${VERSION_DEFAULT}`;
  const workflows =
    workflowTypes.length > 0 ? workflowTypes.map(versioned) : taskTypes.length > 0 ? [] : seat.workflows;
  if (names.length + workflows.length === 0)
    throw refused("task_types", `and workflow_types are empty, and worker ${seat.workerId} has registered with none`);
  return { queues: taskQueue === "" ? seat.queues : [taskQueue], names, workflows };
}

type Seats = Pick<Handlers<typeof WorkerService>, "register" | "heartbeat" | "deregister">;

function seatHandlers({ store, clock, guests }: WorkerServiceParams, seats: WorkerSeats): Seats {
  const forgotten = new ForgottenTasks({ store, clock });
  return {
    async register(message, call) {
      return register(seats, message, call);
    },

    async heartbeat({ workerId, listsTasks, taskTokens }, { namespace }) {
      const seat = await found(seats, namespace, workerId);
      if (!seat) return { accepted: false };
      const { leaseMs, draining } = seat;
      const beat = await store.workers.heartbeat({ namespace, workerId, leaseMs, draining });
      if (!beat.live) {
        seats.forget(workerId);
        forgotten.forget(workerId);
        await guests.release(workerId, true);
        return { accepted: false };
      }
      guests.noteAlive(workerId);
      seat.seenAt = clock.monotonic();
      if (beat.drain) seat.draining = true;
      if (listsTasks && beat.heldTasks > 0) await forgotten.compare({ namespace, workerId }, taskTokens);
      const keys = beat.canceledTasks.map(({ runId, seq }) => ({ runId, seq }));
      const canceled = keys.length === 0 ? [] : await store.tasks.read({ namespace, tasks: keys });
      const lost = listsTasks ? await guests.compare(namespace, workerId, taskTokens) : [];
      return {
        accepted: true,
        shouldDrain: seat.draining,
        cancelledTaskTokens: [...canceled.flatMap((task) => (task ? [writeToken(task)] : [])), ...lost],
      };
    },

    async deregister({ workerId, drain }, { namespace }) {
      const seat = await found(seats, namespace, workerId);
      if (!seat) return { drained: true };
      seat.draining = true;
      const { leaseMs } = seat;
      const { heldCount, heldTasks } = await store.workers.heartbeat({ namespace, workerId, leaseMs, draining: true });
      const drained = heldCount + heldTasks + guests.count(workerId) === 0;
      // With `drain` it keeps what it holds, and calls again when it is done.
      if (drain && !drained) return { drained };
      await guests.release(workerId, false);
      await store.workers.stop({ namespace, workerId });
      seats.forget(workerId);
      forgotten.forget(workerId);
      return { drained };
    },
  };
}

async function register(
  seats: WorkerSeats,
  message: RegisterRequest,
  { namespace }: Call,
): Promise<MessageInitShape<typeof RegisterResponseSchema>> {
  const { taskQueue, workflowTypes, taskTypes, hostname, pid, version, labels, name, leaseSecs } = message;
  const secs = leaseSecs === 0 ? LEASE_SECS_DEFAULT : leaseSecs;
  if (secs < LEASE_SECS_MIN || secs > LEASE_SECS_MAX)
    throw refused("lease_secs", `is ${secs}; it must be between ${LEASE_SECS_MIN} and ${LEASE_SECS_MAX}`);
  requireNoLimits(message);
  const names = [...workflowTypes, ...taskTypes, ...Object.keys(labels), taskQueue, hostname, version, name];
  if (names.length > NAMES_MAX) throw refused("task_types", `and the others are more than ${NAMES_MAX} names`);
  if (names.some((one) => one.length > 200 || one.includes("\u0000")))
    throw refused("register", "has a name of more than 200 characters, or with a NUL");
  const reserved = [...workflowTypes, ...taskTypes].find((one) => one.startsWith(RESERVED_PREFIX));
  if (reserved !== undefined)
    throw refused("register", `has the name "${reserved}", which begins with "${RESERVED_PREFIX}": that is reserved`);
  const { workerId } = await seats.register({
    namespace,
    queues: [taskQueue === "" ? QUEUE_DEFAULT : taskQueue],
    workflows: workflowTypes.map((type) => `${type}@${version === "" ? VERSION_DEFAULT : version}`),
    tasks: taskTypes,
    labels,
    host: hostname,
    pid,
    version,
    name,
    leaseMs: secs * 1_000,
  });
  return { workerId, heartbeatIntervalSecs: Math.max(1, Math.floor(secs / HEARTBEATS_PER_LEASE)) };
}

/** A limit that nobody keeps is worse than none. */
function requireNoLimits({ queueConcurrencyLimit, workflowTypeConcurrency }: RegisterRequest): void {
  const advice =
    "is not kept by the server: poll only while there is room, or give as many credits; a queue has limits of its own";
  if (queueConcurrencyLimit !== 0) throw refused("queue_concurrency_limit", advice);
  if (workflowTypeConcurrency.length > 0) throw refused("workflow_type_concurrency", advice);
}

async function found(seats: WorkerSeats, namespace: string, workerId: string): Promise<Seat | undefined> {
  try {
    return await seats.find(namespace, required(workerId, "worker_id"));
  } catch (error) {
    if (isHoldfastError(error, "worker_not_found")) return undefined;
    throw error;
  }
}

type TaskHandlers = Pick<Handlers<typeof WorkerService>, "completeTask" | "failTask" | "heartbeatTask">;

function taskHandlers(params: WorkerServiceParams): TaskHandlers {
  return {
    async completeTask({ taskToken, output }, call) {
      const result = await receivedPayload(params, call, output, "output");
      await call.client.tasks.complete(taskToken, result);
      return {};
    },

    async failTask({ taskToken, error }, { client }) {
      await client.tasks.fail(taskToken, fromErrorDetail(error));
      const task = await client.tasks.get(taskToken).catch((refusal: unknown) => {
        if (isHoldfastError(refusal, "task_closed") || isHoldfastError(refusal, "task_not_found")) return undefined;
        throw refusal;
      });
      return { scheduledRetry: task?.status === "due" };
    },

    async heartbeatTask({ taskToken, details }, call) {
      const reported = await receivedPayload(params, call, details, "details");
      const { canceled } = await call.client.tasks.heartbeat(taskToken, reported);
      return { cancelled: canceled };
    },
  };
}
