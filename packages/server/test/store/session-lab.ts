/** A client and a server with a network in memory between them, and calls that most tests make. */
import { aStart, newRun, REPLACED } from "@holdfast/conformance";
import { type OpenedStore, type Store, systemPorts, uuidV7 } from "holdfast/adapter";
import type { VirtualClock } from "holdfast/testing";
import { onTestFinished } from "vitest";
import type { ServiceLimits } from "../../src/store-service/service-limits.ts";
import { memoryStore } from "./served-store.ts";
import { Wire } from "./wire.ts";

export interface OpenOptions {
  readonly clock?: VirtualClock;
  readonly around?: (store: Store) => Store;
  readonly limits?: Partial<ServiceLimits>;
  /** As clients are, without duties. */
  readonly tenant?: boolean;
}

export interface Opened {
  readonly wire: Wire;
  readonly behind: OpenedStore;
  readonly opened: OpenedStore;
  readonly store: Store;
}

export async function open(options: OpenOptions = {}): Promise<Opened> {
  const { clock, around = (store) => store, limits, tenant = false } = options;
  const memory = memoryStore(clock);
  const behind = { ...memory, store: around(memory.store) };
  const wire = new Wire(behind, {
    ...(clock ? { clock } : {}),
    ...(limits ? { limits } : {}),
    ...(tenant ? { caller: { allows: () => true } } : {}),
  });
  const connecting = wire.connect(tenant ? {} : { duties: true });
  const opened = await (clock ? clock.until(connecting) : connecting);
  onTestFinished(async () => {
    await opened.store.close();
    wire.service.close();
  });
  return { wire, behind, opened, store: opened.store };
}

export const WORKER = newId();

export function newId(): string {
  return uuidV7(systemPorts.clock.now(), systemPorts.random.bytes(16));
}

export function register(store: Store, fields: object): Promise<unknown> {
  return store.workers.register({
    workerId: WORKER,
    namespace: "default",
    name: "a worker",
    queues: ["default"],
    workflows: [],
    labels: {},
    leaseMs: 60_000,
    ...fields,
  });
}

export function start(store: Store, runId = newId(), input = new Uint8Array([1])): Promise<unknown> {
  const starts = [aStart(newRun(runId, { input }))];
  return store.runs.start({ starts, holdBy: null, replaceError: REPLACED });
}

export function cutOnce<T>(when: (message: T) => boolean): (message: T) => "cut" | "arrives" {
  let done = false;
  return (message) => {
    if (done || !when(message)) return "arrives";
    done = true;
    return "cut";
  };
}

export function gated(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Turns of the event loop until it holds. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns += 1) {
    if (turns > 100_000) throw new Error("it never came");
    await new Promise<void>((resolve) => systemPorts.clock.immediate(resolve));
  }
}
