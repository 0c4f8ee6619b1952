import type { Payload } from "../../packages/holdfast/src/model/payload.ts";
import type { Store, TransactParams } from "../../packages/holdfast/src/ports/store.ts";
import { type StoreMethod, storeOf } from "../../packages/holdfast/src/ports/store-calls.ts";
import type { Lane } from "../clock.ts";
import { type Fate, outcomeUnknown, type SimStore, unavailable } from "./sim-store.ts";

/** A call in flight. */
interface Call {
  readonly method: StoreMethod;
  readonly params: unknown;
  /** Answers the caller; the first answer counts. */
  readonly settle: (answer: () => void) => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  applied: boolean;
  /** The connection is gone, and with it everything that had not arrived. */
  lost: boolean;
}

/** The connection of one process to the store. */
export class Connection {
  readonly #store: SimStore;
  readonly #lane: Lane;
  readonly #who: string;
  readonly #onUse: () => void;
  readonly #packs: boolean;
  readonly #open = new Set<Call>();
  /** What waits for the network to come back while the connection is cut off. */
  #held: (() => void)[] | undefined;

  constructor(store: SimStore, lane: Lane, who: string, packs: boolean, onUse: () => void) {
    this.#store = store;
    this.#lane = lane;
    this.#who = who;
    this.#packs = packs;
    this.#onUse = onUse;
  }

  /** The store port through this connection. */
  port(): Store {
    const capabilities = { ...this.#store.memory.capabilities, segments: this.#packs };
    return storeOf((method, params) => this.#call(method, params), { capabilities, close: async () => {} });
  }

  /** Holds back calls and answers, without an error. */
  cutOff(): void {
    this.#held ??= [];
  }

  reconnect(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const pass of held) pass();
  }

  /** Answers everything in flight with a broken connection; what had not arrived may still arrive, or not. */
  drop(): void {
    for (const call of [...this.#open]) {
      if (!call.applied) call.lost = this.#store.dice.chance(0.5);
      call.settle(() => call.reject(outcomeUnknown()));
    }
  }

  #call(method: StoreMethod, given: unknown): Promise<unknown> {
    this.#onUse();
    if (this.#lane.dead) return new Promise<never>(() => {});
    const params = method === "transact" ? this.#atHome(given as TransactParams) : given;
    return new Promise((resolve, reject) => {
      let settled = false;
      const call: Call = {
        method,
        params,
        resolve,
        reject,
        applied: false,
        lost: false,
        settle: (answer) => {
          if (settled) return;
          settled = true;
          this.#open.delete(call);
          this.#lane.add(answer);
        },
      };
      this.#open.add(call);
      this.#send(call, this.#store.drawFate());
    });
  }

  /** The process itself does the work inside a transaction, and nothing more once it is dead. */
  #atHome(params: TransactParams): TransactParams {
    const work = (tx: unknown): Promise<Payload> =>
      new Promise((resolve, reject) =>
        this.#lane.add(() => void Promise.resolve(params.work(tx)).then(resolve, reject)),
      );
    return { ...params, work };
  }

  #send(call: Call, fate: Fate): void {
    const { time, dice, trace } = this.#store;
    if (fate !== "none" && fate !== "tail") {
      this.#store.faults += 1;
      trace.add(time.elapsedMs, this.#who, undefined, `${call.method}: ${fate}`);
    }
    const later = (ms: number, then: () => void): void => void time.at(ms, () => this.#pass(then));
    const out = this.#store.latencyMs(fate);
    const back = this.#store.latencyMs(fate);
    switch (fate) {
      case "unavailable":
        return later(out + back, () => call.settle(() => call.reject(unavailable())));
      case "brokenBefore":
        return later(out + back, () => call.settle(() => call.reject(outcomeUnknown())));
      case "brokenAfter":
        return later(out, () => {
          this.#arrive(call, () => {});
          later(back, () => call.settle(() => call.reject(outcomeUnknown())));
        });
      case "timeout":
        later(out + back, () => call.settle(() => call.reject(outcomeUnknown())));
        return later(out + back + dice.between(0, 3_000), () => this.#arriveLate(call));
      case "duplicate":
        later(out + dice.between(0, 3_000), () => this.#arriveLate(call));
        break;
      case "hang": {
        const ms = dice.between(2_000, 15_000);
        return later(out, () => this.#arrive(call, (answer) => later(this.#store.healed ? back : ms, answer)));
      }
    }
    later(out, () => this.#arrive(call, (answer) => later(back, answer)));
  }

  /** The call takes effect; `onward` sends the answer back. */
  #arrive(call: Call, onward: (answer: () => void) => void): void {
    if (call.lost) return;
    call.applied = true;
    this.#store.apply(this.#who, call.method, call.params).then(
      (value) => onward(() => call.settle(() => call.resolve(value))),
      (error) => onward(() => call.settle(() => call.reject(error))),
    );
  }

  /** After the caller was answered, or has repeated the call. */
  #arriveLate(call: Call): void {
    this.#arrive(call, () => {});
  }

  #pass(then: () => void): void {
    if (this.#held) this.#held.push(then);
    else then();
  }
}
