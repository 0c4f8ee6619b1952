/**
 * Connections for transactions that the application takes part in. Each serves one transaction at a time. Idle ones do not
 * keep the process alive.
 */
import { HoldfastError } from "holdfast/adapter";
import { callError, sqlStateOf } from "../errors.ts";
import {
  answerLimit,
  type Client,
  type ClientPurpose,
  destroyClient,
  endClient,
  isInTransaction,
  newClient,
  type Query,
  type Row,
  refClient,
  runQuery,
  unrefClient,
} from "./driver.ts";
import type { Settings } from "./settings.ts";

export interface SessionsParams {
  readonly settings: Settings;
  readonly purpose: ClientPurpose;
  readonly where: string;
}

export class Session {
  readonly client: Client;
  /** The connection is gone, or must not be used again. */
  broken = false;
  /** Why the server ended the connection, if it gave a reason. */
  ending: string | undefined;
  readonly #settings: Settings;

  constructor(client: Client, settings: Settings) {
    this.client = client;
    this.#settings = settings;
    client.once("end", () => {
      this.broken = true;
    });
    client.once("error", (error) => {
      this.ending = sqlStateOf(error);
    });
  }

  /** One of our own statements. It gets less time than the application's. */
  async run({ name, ...query }: Query): Promise<readonly Row[]> {
    const named = name === undefined || this.#settings.pooler ? {} : { name };
    try {
      return await runQuery(this.client, { ...query, ...named, answerMs: answerLimit(this.#settings) });
    } catch (error) {
      // If one call got no answer, the next would not either.
      if (sqlStateOf(error) === undefined) this.destroy();
      throw error;
    }
  }

  /** Closes the connection at once; anything uncommitted on it is lost. */
  destroy(): void {
    this.broken = true;
    destroyClient(this.client);
  }

  /** False when the connection is gone. */
  async rollback(): Promise<boolean> {
    if (this.broken || !isInTransaction(this.client)) return !this.broken;
    await this.run({ text: "rollback" }).catch(() => this.destroy());
    return !this.broken;
  }
}

export class Sessions {
  readonly #params: SessionsParams;
  readonly #idle: Session[] = [];
  readonly #waiting = new Set<() => void>();
  #taken = 0;
  #closed = false;

  constructor(params: SessionsParams) {
    this.#params = params;
  }

  /** Waits for a connection until the signal is aborted. */
  async use<T>(signal: AbortSignal | undefined, work: (session: Session) => Promise<T>): Promise<T> {
    if (this.#taken < this.#params.settings.transactionsMax) this.#taken += 1;
    else await this.#turn(signal);
    let session: Session | undefined;
    try {
      session = await this.#open();
      return await work(session);
    } finally {
      if (session) this.#giveBack(session);
      this.#taken -= 1;
      const [next] = this.#waiting;
      next?.();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#idle.splice(0).map((session) => endClient(session.client)));
  }

  /** Callers are served in the order in which they began to wait. */
  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(begin);
        signal?.removeEventListener("abort", giveUp);
      };
      const begin = (): void => {
        leave();
        this.#taken += 1;
        resolve();
      };
      const giveUp = (): void => {
        leave();
        reject(signal?.reason);
      };
      this.#waiting.add(begin);
      signal?.addEventListener("abort", giveUp, { once: true });
      if (signal?.aborted) giveUp();
    });
  }

  #giveBack(session: Session): void {
    if (session.broken) return;
    // What the work left open must not become part of the next transaction.
    if (this.#closed || isInTransaction(session.client)) session.destroy();
    else {
      unrefClient(session.client);
      this.#idle.push(session);
    }
  }

  async #open(): Promise<Session> {
    const { settings, purpose, where } = this.#params;
    const context = { where, call: "transaction", harmless: true };
    // A permanent error: callers that retry as in an outage must stop.
    if (this.#closed)
      throw new HoldfastError("client_closed", `PostgreSQL at ${where}: the store was used after it was closed.`);
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.broken) continue;
      refClient(idle.client);
      return idle;
    }
    const client = newClient(settings, { ...purpose, application: true });
    try {
      await client.connect();
    } catch (error) {
      throw callError(error, context);
    }
    return new Session(client, settings);
  }
}
