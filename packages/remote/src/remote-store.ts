/** A store whose calls travel to a server. The engine above it is the same as on any other store. */
import { unpackBody } from "@holdfast/protocol/store";
import {
  type FinishTasksParams,
  type HeartbeatResult,
  HoldfastError,
  type OpenedStore,
  type OpenStoreOptions,
  type RegisterWorkerParams,
  type StoreCapabilities,
  type StoreMethod,
  storeOf,
  type WorkerRef,
} from "holdfast/adapter";
import { Connection, type ConnectionParams, isAccessRefusal } from "./connection.ts";
import { answerDuty, withoutLeading } from "./duties.ts";
import { Interest } from "./interest.ts";
import { RemoteNotifier } from "./notifier.ts";
import { CALL_LIMIT_MS, DEAD_MS_MAX } from "./session-limits.ts";

/** The calls that a server must know. */
const NEEDS = ["runs.start", "runs.claim", "runs.commit", "inbox.deliver", "workers.heartbeat"];

export interface RemoteParams extends Pick<OpenStoreOptions, "clock" | "random" | "log"> {
  /** Where the server is, for people. */
  readonly where: string;
  readonly openLink: ConnectionParams["openLink"];
  readonly openUnary?: ConnectionParams["openUnary"];
  /** Duties are forwarded, to a server that allows it: for tests of the store behind it. */
  readonly duties?: boolean;
  /** Calls that the server must know. */
  readonly needs?: readonly string[];
  /** Namespaces of which every hint is wanted; `*` for all. */
  readonly hintsOf?: readonly string[];
}

export async function openRemote(params: RemoteParams): Promise<OpenedStore> {
  const { clock, random, log, where, openLink, openUnary, duties = false, hintsOf = [], needs = NEEDS } = params;
  const interest = new Interest(hintsOf, (change) => connection.interest(change));
  const notifier = new RemoteNotifier(clock, interest);
  const connection = new Connection({
    clock,
    random,
    log,
    where,
    openLink,
    ...(openUnary ? { openUnary } : {}),
    needs,
    interest: () => interest.whole(),
    onHints: (hints) => notifier.publish(hints),
    onHintsLost: () => notifier.lookEverywhere(),
    deadMs: () => deadMs(interest),
  });
  const welcome = await connection.open();
  const call = (method: StoreMethod, given: unknown): Promise<unknown> => {
    const answer = connection.call(method, given);
    return isOfHolder(method, given) ? answer.catch(heldBack) : answer;
  };
  const readClock = (): Promise<{ readonly now: number }> => call("readClock", undefined) as never;
  const answer = (method: StoreMethod, given: unknown): Promise<unknown> => {
    if (duties) return call(method, given);
    const duty = answerDuty(method, given, readClock);
    return duty ?? followed(interest, method, given, call(method, withoutLeading(method, given)));
  };
  const limits = welcome.limits;
  return {
    store: storeOf(answer, {
      capabilities: capabilitiesOf(unpackBody(welcome.capabilities)),
      close: async () => {
        notifier.close();
        await connection.close();
      },
    }),
    notifier,
    place: `the server at ${where}${welcome.place === "" ? "" : ` (${welcome.place})`}`,
    callLimitMs: CALL_LIMIT_MS,
    commitsInFlightMax: limits && limits.commitsInFlightMax > 0 ? limits.commitsInFlightMax : 2,
  };
}

/** What the holder of a run or of a task writes. */
function isOfHolder(method: StoreMethod, params: unknown): boolean {
  if (method === "runs.commit") return true;
  return method === "tasks.finish" && (params as FinishTasksParams).finishes.every(({ by }) => by.type === "holder");
}

/**
 * A holder whose token is no longer accepted must not take that for a judgment of the store about what it writes, and park the run. To it
 * the store is away: it repeats until it has another token, or its lease is over and another worker goes on.
 */
function heldBack(error: unknown): never {
  if (!isAccessRefusal(error)) throw error;
  throw new HoldfastError("store_unavailable", error.message, { data: { code: error.code }, cause: error });
}

/** A function cannot travel. */
function capabilitiesOf(server: unknown): StoreCapabilities {
  const { segments = false } = (server ?? {}) as Partial<StoreCapabilities>;
  const words = "a server, and a function cannot be sent there. Connect to the database itself, or use a step.";
  return { transactions: { kind: null, words }, segments: segments === true };
}

/** A worker that has registered wants its hints, until it stops or is declared dead. */
function followed(
  interest: Interest,
  method: StoreMethod,
  params: unknown,
  answer: Promise<unknown>,
): Promise<unknown> {
  if (method === "workers.register") {
    const { workerId, namespace, queues, leaseMs } = params as RegisterWorkerParams;
    interest.addWorker({ workerId, namespace, queues, leaseMs });
  } else if (method === "workers.stop") interest.removeWorker((params as WorkerRef).workerId);
  if (method !== "workers.register" && method !== "workers.heartbeat") return answer;
  return answer.then((result) => {
    if (!(result as Pick<HeartbeatResult, "live">).live) interest.removeWorker((params as WorkerRef).workerId);
    return result;
  });
}

function deadMs(interest: Interest): number {
  let ms = DEAD_MS_MAX;
  for (const { leaseMs } of interest.workers) ms = Math.min(ms, leaseMs / 3);
  return ms;
}
