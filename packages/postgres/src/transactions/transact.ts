/**
 * Transaction steps: begin, the user's statements, the record of the outcome, commit, all on one connection. Until the commit is
 * sent, a lost connection means that nothing has happened. After that nobody knows, and only `find_outcome` can tell.
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
/** Serialization failure, deadlock: all of it is to be done again. */
const DO_AGAIN = /^40(?:001|P01)$/;
/** The server, or the way to it, went away in the middle. */
const OUTCOME_UNKNOWN = /^(?:08|57P|40003)/;

/** What an earlier function has set for the whole session is not for the next one. */
const CLEAN = "reset session authorization; reset all";

const MADE_READ_ONLY =
  "its function made the transaction read-only, and Holdfast cannot record the outcome in it; leave it writable, or read on a connection of your own in a step";

export interface TransactionStepsParams {
  readonly sessions: Sessions;
  readonly schema: string;
  readonly where: string;
  /** A text that no other transaction has. */
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
  /** The server has begun the transaction as one that only reads: a standby, or a database that is read-only as a whole. */
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
    // Who wants to know what has become of an earlier try is not free to give up.
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

  /** What the user does. Whatever goes wrong here, nothing of it has happened. */
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
      // A connection on which not even a rollback works is gone: that is no fault of the user's work.
      if (!begun || !(await session.rollback())) throw this.#goneError(session, params, error);
      // A standby, or what has become one: the next attempt may find a better server.
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
          "its function ended the transaction itself, and what it did is not protected from being repeated",
        );
      case NO_SUCH_STATEMENT:
        session.destroy();
        throw misused(
          op,
          "its function dropped the prepared statements of its connection (DEALLOCATE); leave them alone",
        );
      case IN_FAILED_TRANSACTION:
        throw misused(op, "its function went on after a statement had failed; let the error pass, or use a savepoint");
      case NOT_ALLOWED:
        // If this works, the connection may do all that it needs: the function has changed the role.
        await this.#find(session, params);
        throw misused(op, 'its function has left a role behind that Holdfast does not know; end it with "reset role"');
      case READ_ONLY:
        // A standby, or what has become one: the next try may find a better server.
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
      // A deferred constraint, or a trigger: the user's own.
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
      "its function left the transaction idle for so long that the server ended it; wait for other things in a step before it",
    );
  }

  #storeError(error: unknown, harmless: boolean): HoldfastError {
    const told = callError(error, { where: this.#params.where, call: "transaction", harmless });
    if (told.code !== "store_refused") return told;
    // Data that the user's statements have brought about is refused; ours never is.
    return new HoldfastError("store_unavailable", told.message, { cause: error, data: told.data });
  }
}

/** The work may be waiting for anything; who has given up does not wait for it. */
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
