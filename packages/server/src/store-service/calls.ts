/** Makes the calls of all sessions on one store: checked, merged where that helps, and never after nobody waits any more. */
import {
  commitsOf,
  isStoreMethod,
  largestPayload,
  packBody,
  payloadTooLarge,
  unpackBody,
} from "@holdfast/protocol/store";
import {
  type Clock,
  type CommitRunsParams,
  callStore,
  type DueSchedulesResult,
  HoldfastError,
  isHoldfastError,
  type Logger,
  type Store,
  type StoreMethod,
  type Task,
} from "holdfast/adapter";
import { isAdmitted } from "./admission.ts";
import { type Caller, checkCall, hasRole, malformed, ownerOf } from "./caller.ts";
import { CommitMerger, tooLate } from "./commit-merger.ts";
import { isWithoutEffect, type Operation, operationsOf, signedBy } from "./operator-calls.ts";
import { requireRegistration } from "./registration.ts";

export interface CallsParams {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly commitsInFlightMax: number;
  readonly payloadBytesMax: number;
}

export interface IncomingCall {
  readonly method: string;
  readonly body: Uint8Array;
  /** By the monotonic clock: after that nobody waits for the answer. */
  readonly endsAt: number;
  readonly caller: Caller;
  /** Looks at a call that is about to be made. */
  readonly onParams?: (method: StoreMethod, params: unknown) => void;
}

export class Calls {
  readonly #params: CallsParams;
  readonly #merger: CommitMerger;

  constructor(params: CallsParams) {
    this.#params = params;
    this.#merger = new CommitMerger(params.store, params.clock, params.commitsInFlightMax);
  }

  /** The body of the answer. Rejects with what the caller is told. */
  async make(call: IncomingCall): Promise<Uint8Array> {
    const { method, body, caller } = call;
    if (!isStoreMethod(method)) throw new HoldfastError("store_refused", `The server has no call "${shown(method)}".`);
    const params = method === "runs.commit" ? commitsOf(unpackBody(body)) : unpackBody(body);
    const operations = caller.audit ? operationsOf(caller, method, params) : [];
    if (operations.length === 0) return this.#make(call, method, params);
    return audited(caller, operations, (onIdle) =>
      this.#make(call, method, signedBy(caller, method, params), (answer) => {
        if (isWithoutEffect(method, params, answer)) onIdle();
      }),
    );
  }

  async #make(
    { body, endsAt, caller, onParams }: IncomingCall,
    method: StoreMethod,
    params: unknown,
    note?: (answer: unknown) => void,
  ): Promise<Uint8Array> {
    if (body.length > this.#params.payloadBytesMax) this.#checkPayloads(params);
    checkCall(caller, method, params);
    if (method === "workers.register") requireRegistration(method, params);
    if (caller.admit && isAdmitted(method)) await caller.admit({ method, params, bytes: body.length });
    if (endsAt <= this.#params.clock.monotonic()) throw tooLate(method);
    onParams?.(method, params);
    try {
      const answer = await this.#call(method, params, endsAt, caller);
      note?.(answer);
      return packBody(answer);
    } catch (error) {
      if (isHoldfastError(error)) throw error;
      // The store has stumbled: over parameters that are none, or over a bug of its own.
      this.#params.log.warn({ call: method, error: String(error) }, "a call of a client failed in the store");
      throw malformed(method, error);
    }
  }

  async #call(method: StoreMethod, params: unknown, endsAt: number, caller: Caller): Promise<unknown> {
    const { store } = this.#params;
    if (method === "runs.commit") return this.#merger.commit(params as CommitRunsParams, endsAt);
    if (caller.duties) return callStore(store, method, params);
    // The server leads, and no worker of a tenant.
    if (method === "workers.register" || method === "workers.heartbeat")
      return callStore(store, method, { ...(params as object), coordinates: false });
    const answer = await callStore(store, method, params);
    if (method === "tasks.read" || method === "tasks.list")
      return withoutSecrets(answer as readonly (Task | null)[], caller);
    return method === "schedules.due" ? ofCaller(answer as DueSchedulesResult, caller) : answer;
  }

  #checkPayloads(params: unknown): void {
    const { payloadBytesMax } = this.#params;
    const largest = largestPayload(params);
    if (largest > payloadBytesMax) throw payloadTooLarge(largest, payloadBytesMax);
  }
}

/** Kept also if it was refused, or the store has not answered; not if nothing has happened. */
async function audited<T>(
  caller: Caller,
  operations: readonly Operation[],
  make: (onIdle: () => void) => Promise<T>,
): Promise<T> {
  let outcome = "ok";
  let idle = false;
  try {
    return await make(() => {
      idle = true;
    });
  } catch (error) {
    outcome = isHoldfastError(error) ? error.code : "internal";
    throw error;
  } finally {
    if (!idle) for (const operation of operations) caller.audit?.({ ...operation, outcome });
  }
}

/** Of the schedules of all namespaces those that the caller may see. */
function ofCaller(due: DueSchedulesResult, caller: Caller): DueSchedulesResult {
  const schedules = due.schedules.filter(({ namespace }) => caller.allows("reader", ownerOf(namespace)));
  return { ...due, schedules, awaited: [] };
}

/** A token reports on a task, for which one must be a writer. */
function withoutSecrets(tasks: readonly (Task | null)[], caller: Caller): readonly (Task | null)[] {
  return tasks.map((task) => (task && !hasRole(caller, "writer", task.namespace) ? { ...task, secret: "" } : task));
}

function shown(text: string): string {
  return text.replace(/[^\w.]/g, "?").slice(0, 50);
}
