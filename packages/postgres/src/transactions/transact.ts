/**
 * Transaction steps: begin, the user's statements, the result message, commit, all on one connection. Until the commit is
 * sent, a lost connection means that nothing has happened. After that the outcome is unknown, and only `find_outcome` can tell.
 */
import { HoldfastError, type Payload, type TransactParams, type TransactResult } from "holdfast/adapter";
import type { Row } from "../database/driver.ts";
import { callOf, textFor } from "../database/server-call.ts";
import type { Session, Sessions } from "../database/sessions.ts";
import { callError, isSilence, sqlStateOf } from "../errors.ts";
import { messageOf } from "../runs/run-rows.ts";
import { openTx } from "./tx.ts";

/** Raised by record_outcome. */
const LOST = "HF002";
const HAPPENED_BEFORE = "HF003";
const ENDED_BY_HAND = "HF004";
const IN_FAILED_TRANSACTION = "25P02";
const NO_SUCH_STATEMENT = "26000";
const IDLE_IN_TRANSACTION = "25P03";
const READ_ONLY = "25006";
const NOT_ALLOWED = "42501";
/** Serialization failure, deadlock: the whole transaction must be repeated. */
const DO_AGAIN = /^40(?:001|P01)$/;
/** The server or the network failed in the middle of the transaction. */
const OUTCOME_UNKNOWN = /^(?:08|57P|40003)/;

/** Session settings that an earlier function left behind must not affect the next one. */
const CLEAN = "reset session authorization; reset all";

const MADE_READ_ONLY =
  "its function made the transaction read-only, and Holdfast cannot record the result in it; leave it writable, or read on your own connection in an ordinary step";

export interface TransactionStepsParams {
  readonly sessions: Sessions;
  readonly schema: string;
  readonly where: string;
  /** Unique to this transaction. */
  readonly newToken: () => string;
}

const RECORD = callOf<TransactParams & Pick<Work, "token" | "payload">>("record_outcome", {
  p_token: ({ token }) => token,
  p_namespace: ({ namespace }) => namespace,
  p_worker: ({ workerId }) => workerId,
  p_run: ({ runId }) => runId,
  p_epoch: ({ epoch }) => epoch,
  p_op: ({ op }) => op,
  p_message: ({ messageId }) => messageId,
  p_payload: ({ payload }) => Buffer.from(payload),
});

const FIND = callOf<TransactParams>("find_outcome", {
  p_namespace: ({ namespace }) => namespace,
  p_run: ({ runId }) => runId,
  p_message: ({ messageId }) => messageId,
});

interface Work {
  readonly token: string;
  readonly payload: Payload;
  /** The server began the transaction as read-only: a standby, or a read-only database. */
  readonly begunReadOnly: boolean;
}

export class TransactionSteps {
  readonly #params: TransactionStepsParams;
  readonly #recordText: string;
  readonly #findText: string;

  constructor(params: TransactionStepsParams) {
    this.#params = params;
    this.#recordText = textFor(RECORD, params.schema);
    this.#findText = textFor(FIND, params.schema);
  }

  transact(params: TransactParams): Promise<TransactResult> {
    // A call that asks about an earlier attempt's outcome must not be aborted.
    return this.#params.sessions.use(params.again ? undefined : params.signal, async (session) => {
      const earlier = params.again ? await this.#find(session, params) : undefined;
      return earlier ?? this.#attempt(session, params);
    });
  }

  async #attempt(session: Session, params: TransactParams): Promise<TransactResult> {
    const { runId, op, messageId } = params;
    const { token, payload, begunReadOnly } = await this.#work(session, params);
    let row: Row | undefined;
    try {
      const values = RECORD.values({ ...params, token, payload });
      [row] = await session.run({ name: RECORD.name, text: this.#recordText, values });
    } catch (error) {
      await session.rollback();
      if (sqlStateOf(error) === READ_ONLY && !begunReadOnly) throw misused(params.op, MADE_READ_ONLY);
      return this.#notRecorded(session, params, error);
    }
    await this.#commit(session);
    const message = { runId, kind: "outcome", name: op, messageId, payload } as const;
    return { outcome: "recorded", message: { ...message, number: row?.number as number, at: row?.at as number } };
  }

  /** The user's part. If anything fails here, it is all rolled back. */
  async #work(session: Session, params: TransactParams): Promise<Work> {
    const { signal, work } = params;
    signal.throwIfAborted();
    const token = this.#params.newToken();
    const aborted = whenAborted(signal, () => session.destroy());
    const tx = openTx(session.client);
    let begun = false;
    try {
      const mark = `set_config('holdfast.transaction', '${token}', true)`;
      const readOnly = "current_setting('transaction_read_only') as read_only";
      const [row] = await session.run({ text: `${CLEAN}; begin; select ${mark}, ${readOnly}` });
      begun = true;
      const payload = await Promise.race([work(tx.client), aborted.promise]);
      return { token, payload, begunReadOnly: row?.read_only === "on" };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isSilence(error)) session.destroy();
      // If not even a rollback works, the connection is gone, which is not the fault of the user's work.
      if (!begun || !(await session.rollback())) throw this.#goneError(session, params, error);
      // A standby, or a server that has become one: the next attempt may reach a better server.
      if (sqlStateOf(error) === READ_ONLY) session.destroy();
      throw error;
    } finally {
      tx.end();
      aborted.forget();
    }
  }

  async #notRecorded(session: Session, params: TransactParams, error: unknown): Promise<TransactResult> {
    const { op } = params;
    switch (sqlStateOf(error)) {
      case LOST:
        return { outcome: "lost" };
      case HAPPENED_BEFORE:
        return (await this.#find(session, params)) ?? { outcome: "lost" };
      case ENDED_BY_HAND:
        throw misused(
          op,
          "its function ended the transaction itself, so what it did may be repeated; leave BEGIN, COMMIT and ROLLBACK to Holdfast",
        );
      case NO_SUCH_STATEMENT:
        session.destroy();
        throw misused(
          op,
          "its function dropped the prepared statements of its connection (DEALLOCATE); do not drop them",
        );
      case IN_FAILED_TRANSACTION:
        throw misused(
          op,
          "its function continued after a statement had failed; do not catch the error, or use a savepoint",
        );
      case NOT_ALLOWED:
        // If this works, the connection has all the rights it needs, so the function must have changed the role.
        await this.#find(session, params);
        throw misused(op, 'its function left the connection in another role; end it with "reset role"');
      case READ_ONLY:
        // A standby, or a server that has become one: the next attempt may reach a better server.
        session.destroy();
        throw this.#goneError(session, params, error);
      default:
        throw this.#goneError(session, params, error);
    }
  }

  async #commit(session: Session): Promise<void> {
    try {
      await session.run({ name: "commit", text: "commit" });
    } catch (error) {
      const state = sqlStateOf(error);
      if (state === undefined || OUTCOME_UNKNOWN.test(state)) {
        session.destroy();
        throw this.#storeError(error, false);
      }
      await session.rollback();
      // A deferred constraint or a trigger of the user's own tables.
      throw DO_AGAIN.test(state) ? this.#storeError(error, true) : error;
    }
  }

  async #find(session: Session, params: TransactParams): Promise<TransactResult | undefined> {
    try {
      const [row] = await session.run({ name: FIND.name, text: this.#findText, values: FIND.values(params) });
      return row && { outcome: "recorded", message: messageOf(row) };
    } catch (error) {
      throw this.#storeError(error, true);
    }
  }

  #goneError(session: Session, { op }: TransactParams, error: unknown): HoldfastError {
    if (session.ending !== IDLE_IN_TRANSACTION) return this.#storeError(error, true);
    return misused(
      op,
      "its function left the transaction idle for so long that the server ended it; do anything slow in a step before it",
    );
  }

  #storeError(error: unknown, harmless: boolean): HoldfastError {
    const told = callError(error, { where: this.#params.where, call: "transaction", harmless });
    if (told.code !== "store_refused") return told;
    // "Refused" concerns data of the user's statements; our own is never refused.
    return new HoldfastError("store_unavailable", told.message, { cause: error, data: told.data });
  }
}

/** The user's work may wait for anything; after an abort, nothing waits for it. */
function whenAborted(signal: AbortSignal, act: () => void): { readonly promise: Promise<never>; forget(): void } {
  let forget = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    const onAbort = (): void => {
      act();
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    forget = () => signal.removeEventListener("abort", onAbort);
  });
  promise.catch(() => {});
  return { promise, forget };
}

function misused(op: string, what: string): HoldfastError {
  return new HoldfastError("transaction_misused", `Step "${op}": ${what}.`, { data: { op } });
}
