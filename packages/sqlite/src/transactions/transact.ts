/**
 * Transaction steps: the user's work and its result message, in one transaction of the store. Steps that are asked for at the
 * same time share a transaction, each under its own savepoint, so that many of them cost one fsync.
 */
import {
  type Clock,
  HoldfastError,
  isHoldfastError,
  type Message,
  type Payload,
  type TransactParams,
  type TransactResult,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { appendMessage } from "../inbox.ts";
import { stateOf } from "../runs/run-state.ts";
import { workerKeyOf } from "../workers.ts";
import type { Transactions } from "./transactions.ts";
import { SqliteTx } from "./tx.ts";

const RECORDED = `
  select number, kind, name, message_id as messageId, payload, at from holdfast_inbox
  where chain_key = ? and message_id = ? and run_key = ?`;

interface Waiting {
  readonly params: TransactParams;
  readonly resolve: (result: TransactResult) => void;
  readonly reject: (error: unknown) => void;
}

type Attempted = { readonly result: TransactResult } | { readonly error: unknown };

/** The work of one step ended the transaction of the whole batch (`on conflict rollback`, a full disk): nothing has happened. */
class Broken {
  readonly culprit: Waiting;
  readonly error: unknown;
  constructor(culprit: Waiting, error: unknown) {
    this.culprit = culprit;
    this.error = error;
  }
}

export class TransactionSteps {
  readonly #transactions: Transactions;
  readonly #clock: Clock;
  #waiting: Waiting[] = [];

  constructor(transactions: Transactions, clock: Clock) {
    this.#transactions = transactions;
    this.#clock = clock;
  }

  transact(params: TransactParams): Promise<TransactResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ params, resolve, reject });
      if (this.#waiting.length === 1) this.#clock.immediate(() => void this.#run(this.#waiting.splice(0)));
    });
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    let answers: Attempted[];
    try {
      answers = await this.#transactions.write((call) => batch.map((waiting) => attempt(call, waiting)));
    } catch (error) {
      return this.#runApart(batch, error);
    }
    batch.forEach(({ resolve, reject }, i) => {
      const answer = answers[i] as Attempted;
      if ("error" in answer) reject(answer.error);
      else resolve(answer.result);
    });
  }

  /** The whole batch was rolled back: if one member is to blame, the others must not fail with it. */
  async #runApart(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (error instanceof Broken) {
      error.culprit.reject(error.error);
      const others = batch.filter((waiting) => waiting !== error.culprit);
      if (others.length > 0) await this.#run(others);
    } else if (isOutage(error)) for (const { reject } of batch) reject(error);
    // A constraint of the user's own tables that SQLite checks at commit.
    else if (batch.length === 1) batch[0]?.reject(isHoldfastError(error, "store_refused") ? error.cause : error);
    else for (const waiting of batch) await this.#run([waiting]);
  }
}

function isOutage(error: unknown): boolean {
  return isHoldfastError(error, "store_unavailable") || isHoldfastError(error, "store_outcome_unknown");
}

function attempt(call: Call, waiting: Waiting): Attempted {
  const { params } = waiting;
  const { sql } = call;
  const { namespace, runId, epoch, workerId, op, messageId } = params;
  const row = stateOf(call, namespace, runId);
  if (!row) return { result: { outcome: "lost" } };
  const recorded = sql.get<Omit<Message, "runId">>(RECORDED, row.chainKey, messageId, row.runKey);
  if (recorded) return { result: { outcome: "recorded", message: { ...recorded, runId } } };
  if (params.signal.aborted) return { error: params.signal.reason };
  if (row.epoch !== epoch || row.heldBy === null || row.heldBy !== workerKeyOf(call, workerId))
    return { result: { outcome: "lost" } };
  let payload: Payload;
  sql.script("savepoint holdfast_step");
  try {
    payload = doWork(call, params);
    params.signal.throwIfAborted();
  } catch (error) {
    try {
      sql.script("rollback to holdfast_step; release holdfast_step");
    } catch {
      throw new Broken(waiting, error);
    }
    return { error };
  }
  const message = { kind: "outcome", name: op, messageId, payload } as const;
  appendMessage(call, row.runKey, row.chainKey, row.delivered + 1, message);
  sql.run("update holdfast_runs set delivered = ? where run_key = ?", row.delivered + 1, row.runKey);
  call.holds.forget(runId);
  sql.script("release holdfast_step");
  return { result: { outcome: "recorded", message: { ...message, runId, number: row.delivered + 1, at: call.now } } };
}

function doWork({ sql }: Call, { work, op }: TransactParams): Payload {
  const tx = new SqliteTx(sql);
  let payload: ReturnType<typeof work>;
  try {
    payload = work(tx);
  } finally {
    tx.end();
  }
  tx.assertWhole();
  if (!(payload instanceof Promise)) return payload;
  payload.catch(() => {});
  throw new HoldfastError(
    "transaction_misused",
    `Step "${op}": the function of a transaction on SQLite must be synchronous, but it returned a promise. Remove async and await; do anything asynchronous in a step before it.`,
    { data: { op } },
  );
}
