import { HoldfastError } from "holdfast/adapter";
import type { Client, PooledClient } from "../database/driver.ts";

/** A statement with its values, as `pg` takes it. */
export interface TxQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
}

/** The result of a statement. */
export interface TxResult<R> {
  readonly rows: R[];
  readonly rowCount: number | null;
}

/** What Holdfast needs from the application's own connection: any connection of `pg`, from a pool or not. */
export interface ApplicationConnection {
  query<R = Record<string, unknown>>(query: string | TxQuery, values?: readonly unknown[]): Promise<TxResult<R>>;
}

/**
 * A step's open transaction: a connection like those from a `pg` pool. Libraries and functions that take such a connection
 * take this one. `release()` does nothing; `connect()` and `end()` are refused, because the connection belongs to Holdfast.
 */
export interface Tx extends PooledClient {
  /** Rows are typed by the type argument; without one their columns are unknown. */
  query: ApplicationConnection["query"] & PooledClient["query"];
}

const REFUSED: ReadonlySet<string | symbol> = new Set(["end", "connect"]);

/** @internal The connection, usable until `end` is called. */
export function openTx(client: Client): { readonly client: Tx; end(): void } {
  let open = true;
  const proxy = new Proxy(client, {
    get: (target, name) => {
      // Checked at each call: a function may keep the method.
      if (name === "query")
        return (...values: unknown[]) => (open ? Reflect.apply(target.query, target, values) : Promise.reject(ended()));
      if (name === "release") return () => {};
      if (REFUSED.has(name)) return () => refuse(String(name));
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return {
    client: proxy as unknown as Tx,
    end: () => {
      open = false;
    },
  };
}

function refuse(name: string): never {
  throw misused(`${name}() is not allowed inside a transaction step: the connection belongs to Holdfast.`);
}

function ended(): HoldfastError {
  return misused(
    "tx was used after the transaction ended. Use it only inside the step's function, and await every query.",
  );
}

function misused(what: string): HoldfastError {
  return new HoldfastError("transaction_misused", `PostgreSQL transaction: ${what}`);
}
