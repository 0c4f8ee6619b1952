// Stagecraft: lets worker A live in a process of its own although the store is in the memory of main.ts. Store calls and
// hints travel over the channel between parent and child. A store on disk needs nothing of this: see place.ts.
import type { ChildProcess } from "node:child_process";
import { randomFillSync } from "node:crypto";
import process from "node:process";
import { Client, type ErrorCode, HoldfastError, isHoldfastError, jsonCodec, type Logger } from "holdfast";
import type { Clock, Hint, Notifier, Random, Store } from "holdfast/adapter";

type Method = Exclude<keyof Store, "close">;
type Call = { readonly call: number; readonly method: Method; readonly params: unknown };
type Answer = {
  readonly call: number;
  readonly value?: unknown;
  readonly error?: { code: ErrorCode; message: string };
};
type ToWorker = { readonly answer: Answer } | { readonly hint: Hint };

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    const timeout = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timeout) };
  },
  immediate: (callback) => void setImmediate(callback),
};

const realRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => randomFillSync(new Uint8Array(length)),
};

/** What `connect(url)` does, for a store that is already open. */
export function clientOn(store: Store, notifier: Notifier, log: Logger): Client {
  return new Client({ clock: realClock, random: realRandom, codec: jsonCodec, log, store, notifier }, "default", () =>
    store.close(),
  );
}

/** In main.ts: answers the store calls of the child, and passes hints on to it. Returns the function that stops it. */
export function serveStore(child: ChildProcess, store: Store, notifier: Notifier): () => void {
  const send = (message: ToWorker): void => {
    if (child.connected) child.send(message, () => {});
  };
  const onMessage = ({ call, method, params }: Partial<Call>): void => {
    if (call === undefined || method === undefined) return;
    const answered = (store[method] as (params: unknown) => Promise<unknown>)(params);
    answered.then(
      (value) => send({ answer: { call, value } }),
      (error) => send({ answer: { call, error: { code: codeOf(error), message: String(error) } } }),
    );
  };
  child.on("message", onMessage);
  const unsubscribe = notifier.subscribe((hint) => send({ hint }));
  return () => {
    child.off("message", onMessage);
    unsubscribe();
  };
}

/** In the child: a client whose store is on the other side of the channel. */
export function linkedClient(log: Logger): Client {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  const listeners = new Set<(hint: Hint) => void>();
  let calls = 0;
  process.on("message", (message: ToWorker) => {
    if ("hint" in message) {
      for (const listener of listeners) listener(message.hint);
      return;
    }
    const { call, value, error } = message.answer;
    const waiter = waiting.get(call);
    waiting.delete(call);
    if (error) waiter?.reject(new HoldfastError(error.code, error.message));
    else waiter?.resolve(value);
  });
  const store = new Proxy({} as Store, {
    get: (_, method) => (params: unknown) =>
      new Promise((resolve, reject) => {
        const call = ++calls;
        waiting.set(call, { resolve, reject });
        process.send?.({ call, method, params });
      }),
  });
  const notifier: Notifier = {
    publish() {},
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return clientOn(store, notifier, log);
}

function codeOf(error: unknown): ErrorCode {
  return isHoldfastError(error) ? error.code : "store_unavailable";
}
