import { HoldfastError } from "holdfast/adapter";
import type { Client } from "./driver.ts";

/** A statement with its values, as `pg` takes it. */
export interface TxQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
}

export interface TxResult<R> {
  readonly rows: R[];
  readonly rowCount: number | null;
}

/** The open transaction of a step: `query` of a connection of `pg`. Libraries that take such a connection take this one. */
export interface Tx {
  query<R = Record<string, unknown>>(query: string | TxQuery, values?: readonly unknown[]): Promise<TxResult<R>>;
}

const NOT_HERE: ReadonlySet<string | symbol> = new Set(["end", "connect", "release"]);

/** @internal The connection, usable until `end` is called. */
export function openTx(client: Client): { readonly client: Tx; end(): void } {
  let open = true;
  const proxy = new Proxy(client, {
    get: (target, name) => {
      // Judged when it is called: a function may keep the method.
      if (name === "query")
        return (...values: unknown[]) => (open ? Reflect.apply(target.query, target, values) : Promise.reject(ended()));
      if (NOT_HERE.has(name)) throw misused(`${String(name)}() is not for here. The connection is Holdfast's.`);
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

function ended(): HoldfastError {
  return misused(
    "it was used after its end. Use tx only inside the function that it is given to, and await what it returns.",
  );
}

function misused(what: string): HoldfastError {
  return new HoldfastError("transaction_misused", `PostgreSQL transaction: ${what}`);
}
