/**
 * The calls of a store under one name each (`runs.commit`), for wrappers that treat all of them alike: to watch, to delay, to
 * fail. A new call needs a name in the table below, and nothing else here.
 */
import type { Store, StoreGroups } from "./store.ts";

type CallsOf<G extends keyof StoreGroups> = {
  readonly [M in keyof StoreGroups[G] & string as `${G}.${M}`]: StoreGroups[G][M];
};

/** Every call of the port but `close`, under its full name. */
export type StoreCalls = CallsOf<"runs"> &
  CallsOf<"histories"> &
  CallsOf<"segments"> &
  CallsOf<"inbox"> &
  CallsOf<"tasks"> &
  CallsOf<"versions"> &
  CallsOf<"workers"> &
  CallsOf<"debts"> &
  CallsOf<"locks"> &
  CallsOf<"queues"> &
  CallsOf<"namespaces"> &
  CallsOf<"asks"> &
  CallsOf<"payloads"> &
  CallsOf<"schedules"> &
  CallsOf<"retention"> &
  CallsOf<"transfers"> & { readonly transact: NonNullable<Store["transact"]>; readonly readClock: Store["readClock"] };

/** The full name of a call, such as `runs.commit`. */
export type StoreMethod = keyof StoreCalls;

/** The groups, and what is in them. */
const GROUPS: { readonly [G in keyof StoreGroups]: Readonly<Record<keyof StoreGroups[G], true>> } = {
  runs: {
    start: true,
    debounce: true,
    claim: true,
    commit: true,
    releaseIfHeld: true,
    restartIfHeld: true,
    holdIfParkedByOtherCode: true,
    pauseIfIdle: true,
    resumeIfParked: true,
    terminate: true,
    reopenIfFailed: true,
    fork: true,
    watch: true,
    read: true,
    list: true,
    count: true,
    purge: true,
  },
  histories: { read: true },
  segments: { read: true, addIfCurrent: true, drop: true },
  inbox: { deliver: true, read: true, replies: true },
  tasks: { claim: true, finish: true, beat: true, cancel: true, expired: true, read: true, list: true, position: true },
  versions: { register: true, updateIfKnown: true, list: true },
  workers: {
    register: true,
    heartbeat: true,
    readHeld: true,
    readHeldTasks: true,
    stop: true,
    sweep: true,
    list: true,
    askToDrain: true,
    readLog: true,
    addRates: true,
    readRates: true,
    forget: true,
    readLeader: true,
  },
  debts: { read: true, pay: true },
  locks: { pass: true, list: true },
  queues: { setIfRevision: true, list: true, backlog: true },
  namespaces: { allow: true, disallow: true, read: true },
  asks: { ask: true, take: true, answer: true, read: true, forget: true },
  payloads: { read: true, replaceIfUnchanged: true },
  schedules: { putIfRevision: true, due: true, read: true, decisions: true, list: true, remove: true },
  retention: { set: true, read: true, list: true },
  transfers: { identify: true, read: true, departIfIdle: true, departures: true, arrive: true, confirm: true },
};

type Call = (params: unknown) => Promise<unknown>;

/** A store whose calls are answered by one function. */
export function storeOf(
  answer: (method: StoreMethod, params: unknown) => Promise<unknown>,
  rest: Pick<Store, "capabilities" | "close">,
): Store {
  const call =
    (method: string): Call =>
    (params) =>
      answer(method as StoreMethod, params);
  const groups = Object.entries(GROUPS).map(([group, calls]) => {
    const names = Object.keys(calls);
    return [group, Object.fromEntries(names.map((name) => [name, call(`${group}.${name}`)]))];
  });
  const transact = rest.capabilities.transactions.kind === null ? {} : { transact: call("transact") };
  return { ...Object.fromEntries(groups), ...transact, readClock: call("readClock"), ...rest } as Store;
}

/** Makes a call by its name. */
export function callStore(store: Store, method: StoreMethod, params: unknown): Promise<unknown> {
  const [group, name] = PATHS.get(method) ?? [method as "transact" | "readClock"];
  if (name === undefined) return (store[group] as Call).call(store, params);
  return (store[group] as unknown as Readonly<Record<string, Call>>)[name]?.(params) as Promise<unknown>;
}

/** Group and name of every call that is in a group, made once: names are not taken apart at each call. */
const PATHS: ReadonlyMap<string, readonly [group: keyof StoreGroups, name: string]> = new Map(
  Object.entries(GROUPS).flatMap(([group, calls]) =>
    Object.keys(calls).map((name) => [`${group}.${name}`, [group as keyof StoreGroups, name]] as const),
  ),
);

/** Every call but `close`, by its full name. */
export const STORE_METHODS: readonly StoreMethod[] = [...PATHS.keys(), "transact", "readClock"] as StoreMethod[];

/** A store with a wrapper around every call; `call` makes the call. */
export function storeAround(
  store: Store,
  around: (method: StoreMethod, params: unknown, call: () => Promise<unknown>) => Promise<unknown>,
): Store {
  const { capabilities } = store;
  return storeOf((method, params) => around(method, params, () => callStore(store, method, params)), {
    capabilities,
    close: () => store.close(),
  });
}

/** Intercepts one call; `call` makes it, with these parameters or with others. */
export type StoreHooks = {
  readonly [M in StoreMethod]?: (
    params: Parameters<StoreCalls[M]>[0],
    call: (params?: Parameters<StoreCalls[M]>[0]) => ReturnType<StoreCalls[M]>,
  ) => ReturnType<StoreCalls[M]>;
};

/** A store with hooks in front of some of its calls. */
export function hookedStore(store: Store, hooks: StoreHooks): Store {
  return storeOf(
    (method, params) => {
      const hook = hooks[method] as ((params: unknown, call: Call) => Promise<unknown>) | undefined;
      if (!hook) return callStore(store, method, params);
      return hook(params, (other) => callStore(store, method, other === undefined ? params : other));
    },
    { capabilities: store.capabilities, close: () => store.close() },
  );
}
