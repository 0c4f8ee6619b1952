/**
 * A few shared connections. Calls are pipelined, so several may be in flight on one connection. A call takes an idle
 * connection if there is one, opens another if the maximum is not reached, and otherwise queues on the least busy: a call that takes long
 * counts as many, because everything behind it would wait for its end. Among equals it takes one that has made this call before: the server's plans belong to the connection, and planning takes longer
 * than most calls. An idle connection does not keep the process alive.
 */

import { callError, isSilence, spoilsConnection } from "../errors.ts";
import {
  type Client,
  type ClientPurpose,
  endClient,
  newClient,
  type Query,
  type Row,
  refClient,
  runQuery,
  serverProcess,
  unrefClient,
} from "./driver.ts";
import type { Settings } from "./settings.ts";

/** The call only reads, so it is safe whether or not it took effect. */
export interface Statement extends Query {
  readonly name: string;
  readonly reads?: boolean;
  /** It takes many times as long as others. */
  readonly long?: boolean;
}

/** So many short calls on another connection are better than to wait behind one that takes long. */
const LONG_LOAD = 16;

export interface PoolParams {
  readonly settings: Settings;
  readonly purpose: ClientPurpose;
  readonly where: string;
}

interface Slot {
  readonly client: Promise<Client>;
  /** The calls that this connection has been used for. */
  readonly calls: Set<string>;
  inFlight: number;
  /** How much there is to wait for: of each call in flight 1, or more. */
  load: number;
  /** Once it is. */
  connected: Client | undefined;
}

export class Pool {
  readonly #params: PoolParams;
  readonly #slots = new Set<Slot>();
  readonly #processes = new Set<number>();
  #closed = false;
  #idleWaiters: (() => void)[] = [];

  constructor(params: PoolParams) {
    this.#params = params;
  }

  /** Whether a backend serves this pool: this process already knows what it notifies. */
  owns(serverProcess: number): boolean {
    return this.#processes.has(serverProcess);
  }

  get size(): number {
    return this.#slots.size;
  }

  async run(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    const context = { where: this.#params.where, call: statement.name };
    if (this.#closed) throw callError(new Error("the store is closed"), { ...context, harmless: true });
    const slot = this.#take(statement.name);
    slot.calls.add(statement.name);
    if (slot.inFlight === 0 && slot.connected) refClient(slot.connected);
    const load = statement.long ? LONG_LOAD : 1;
    slot.inFlight += 1;
    slot.load += load;
    let sent = false;
    try {
      const client = await slot.client;
      sent = true;
      const { name, text } = statement;
      return await runQuery(client, this.#params.settings.pooler ? { text, values } : { name, text, values });
    } catch (error) {
      if (sent && spoilsConnection(error)) this.#drop(slot);
      if (sent && isSilence(error)) this.#dropIdle();
      throw callError(error, { ...context, harmless: !sent || statement.reads === true });
    } finally {
      slot.inFlight -= 1;
      slot.load -= load;
      if (slot.inFlight === 0 && slot.connected) unrefClient(slot.connected);
      if (this.#closed) this.#settleIdle();
    }
  }

  /** Waits for the calls in flight; each of them ends, at the latest when it times out. */
  async close(): Promise<void> {
    this.#closed = true;
    if ([...this.#slots].some((slot) => slot.inFlight > 0)) {
      await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    }
    const slots = [...this.#slots];
    this.#slots.clear();
    await Promise.all(slots.map((slot) => slot.client.then(endClient).catch(() => {})));
  }

  #take(call: string): Slot {
    let best: Slot | undefined;
    for (const slot of this.#slots) if (!best || isBetter(slot, best, call)) best = slot;
    if (best && (best.inFlight === 0 || this.#slots.size >= this.#params.settings.connectionsMax)) return best;
    return this.#open();
  }

  #open(): Slot {
    const client = newClient(this.#params.settings, this.#params.purpose);
    const connected = client.connect().then(() => client);
    const slot: Slot = { client: connected, calls: new Set(), inFlight: 0, load: 0, connected: undefined };
    this.#slots.add(slot);
    slot.client.then(
      () => {
        slot.connected = client;
        const process = serverProcess(client);
        if (process !== undefined) this.#processes.add(process);
        client.once("end", () => {
          this.#slots.delete(slot);
          if (process !== undefined) this.#processes.delete(process);
        });
      },
      () => this.#slots.delete(slot),
    );
    return slot;
  }

  #drop(slot: Slot): void {
    if (!this.#slots.delete(slot)) return;
    void slot.client.then(endClient).catch(() => {});
  }

  /** If one connection has gone silent, the others may have too, and each would cost a call its full time limit. */
  #dropIdle(): void {
    for (const slot of [...this.#slots]) if (slot.inFlight === 0) this.#drop(slot);
  }

  #settleIdle(): void {
    if ([...this.#slots].some((slot) => slot.inFlight > 0)) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}

function isBetter(slot: Slot, than: Slot, call: string): boolean {
  if (slot.load !== than.load) return slot.load < than.load;
  return slot.calls.has(call) && !than.calls.has(call);
}
