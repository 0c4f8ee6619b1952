/** Connections for transactions that the application takes part in: each is used by one transaction at a time. */
import {
  type Client,
  type ClientPurpose,
  destroyClient,
  endClient,
  isInTransaction,
  newClient,
  type Query,
  type Row,
  runQuery,
} from "./driver.ts";
import { callError } from "./errors.ts";
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

  readonly #pooler: boolean;

  constructor(client: Client, pooler: boolean) {
    this.client = client;
    this.#pooler = pooler;
    client.once("end", () => {
      this.broken = true;
    });
  }

  run({ name, text, values = [] }: Query): Promise<readonly Row[]> {
    return runQuery(this.client, this.#pooler || name === undefined ? { text, values } : { name, text, values });
  }

  /** At once; whatever has not committed on it never will. */
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
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  #closed = false;

  constructor(params: SessionsParams) {
    this.#params = params;
  }

  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const { settings } = this.#params;
    while (this.#taken >= settings.transactionsMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#taken += 1;
    let session: Session | undefined;
    try {
      session = await this.#open();
      return await work(session);
    } finally {
      this.#taken -= 1;
      if (session) this.#giveBack(session);
      this.#waiting.shift()?.();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#idle.splice(0).map((session) => endClient(session.client)));
  }

  #giveBack(session: Session): void {
    if (session.broken) return;
    // Whatever was left behind by the work must not become part of the next transaction.
    if (this.#closed || isInTransaction(session.client)) session.destroy();
    else this.#idle.push(session);
  }

  async #open(): Promise<Session> {
    const { settings, purpose, where } = this.#params;
    const context = { where, call: "transaction", harmless: true };
    if (this.#closed) throw callError(new Error("the store is closed"), context);
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (!idle.broken) return idle;
    const client = newClient(settings, { ...purpose, application: true });
    try {
      await client.connect();
    } catch (error) {
      throw callError(error, context);
    }
    return new Session(client, settings.pooler);
  }
}
