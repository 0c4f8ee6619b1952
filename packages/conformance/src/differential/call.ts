import type { Store } from "holdfast/adapter";

export type Method = Exclude<keyof Store, "close">;

/** One call of a store, with all that it needs: the same call can be sent to every store, and sent again. */
export type Call = { readonly [M in Method]: { readonly method: M; readonly params: Parameters<Store[M]>[0] } }[Method];

export type Answer = { readonly value: unknown } | { readonly error: string };

export async function send(store: Store, call: Call): Promise<Answer> {
  try {
    const method = store[call.method] as (params: unknown) => Promise<unknown>;
    return { value: await method.call(store, call.params) };
  } catch (error) {
    return { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  }
}
