/** What a call needs: whose namespace it is about, who asks, and the clients of that namespace. */
import type { Client, ClientStore } from "holdfast/adapter";
import type { Visitor } from "../gate/visitor.ts";
import type { ShownValues } from "./shown-value.ts";

export interface Scope {
  readonly namespace: string;
  readonly visitor: Visitor;
  /** Looks: its payloads are `StoredValue`s. */
  readonly view: Client;
  /** Acts, with the codec of the application. */
  readonly act: Client;
  readonly store: ClientStore;
  readonly values: ShownValues;
  readonly codecUrl: string | null;
}

/** The store's clock. */
export async function storeNow({ store }: Pick<Scope, "store">): Promise<number> {
  return Math.floor((await store.store.readClock()).now);
}

/** A call of the API: the parts of its path, what was asked for, and the JSON that came with it. */
export interface Ask {
  readonly scope: Scope;
  readonly parts: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly request: Request;
}

export type Read = (ask: Ask) => Promise<object | Response>;
