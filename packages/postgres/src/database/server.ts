import { readHints } from "../hints.ts";
import type { PostgresNotifier } from "../notifier.ts";
import type { Row } from "./driver.ts";
import type { Pool, Statement } from "./pool.ts";
import { type ServerCall, textFor } from "./server-call.ts";

export interface ServerParams {
  readonly pool: Pool;
  readonly notifier: PostgresNotifier;
  readonly schema: string;
  /** Notify other processes. */
  readonly notify: boolean;
}

/** The server as the store's calls see it: one schema, on shared connections. */
export class Server {
  readonly schema: string;
  readonly notify: boolean;
  readonly #pool: Pool;
  readonly #notifier: PostgresNotifier;
  readonly #statements = new Map<unknown, Statement>();

  constructor({ pool, notifier, schema, notify }: ServerParams) {
    this.#pool = pool;
    this.#notifier = notifier;
    this.schema = schema;
    this.notify = notify;
  }

  read<T>(call: ServerCall<T>, about: T): Promise<readonly Row[]> {
    return this.run(this.statementOf(call), call.values(about));
  }

  run(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#pool.run(statement, values);
  }

  /** Announces what was committed within this process; the call itself has notified the others. */
  async write<T>(call: ServerCall<T>, about: T): Promise<readonly Row[]> {
    const rows = await this.read(call, about);
    for (const row of rows) this.#notifier.publish(readHints(row.o_hints ?? row.hints));
    return rows;
  }

  async writeOne<T>(call: ServerCall<T>, about: T): Promise<Row> {
    return (await this.write(call, about))[0] as Row;
  }

  statementOf<T>(call: ServerCall<T>): Statement {
    const known = this.#statements.get(call);
    if (known) return known;
    const { name, reads = false, long = false } = call;
    const statement: Statement = { name, text: textFor(call, this.schema), reads, long };
    this.#statements.set(call, statement);
    return statement;
  }
}
