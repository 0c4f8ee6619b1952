import { callStore, type Store, type StoreCalls, type StoreMethod } from "holdfast/adapter";

/** One complete store call: it can be sent to every store, and sent again. */
export type Call = {
  readonly [M in StoreMethod]: { readonly method: M; readonly params: Parameters<StoreCalls[M]>[0] };
}[StoreMethod];

export type Answer = { readonly value: unknown } | { readonly error: string };

export async function send(store: Store, call: Call): Promise<Answer> {
  try {
    return { value: await callStore(store, call.method, call.params) };
  } catch (error) {
    return { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}
