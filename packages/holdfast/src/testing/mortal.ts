import type { Clock, Timer } from "../ports/clock.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Store } from "../ports/store.ts";

/** A call of the store that has been made by something mortal, before or after it took effect. */
export interface MortalMoment {
  readonly moment: "before" | "after";
  readonly method: keyof Store;
  readonly params: unknown;
}

/**
 * A life that can end between any two lines: what is reached through it (store, clock, hints) falls silent at the moment of
 * death, as if the process were gone. Calls never settle, timers never fire, nobody is told anything.
 */
export class MortalLife {
  #dead = false;
  /** Asked at every store call, before it is made and when its answer has come; true is death. */
  diesAt: ((moment: MortalMoment) => boolean) | undefined;

  onDeath: (() => void) | undefined;

  get dead(): boolean {
    return this.#dead;
  }

  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.onDeath?.();
  }

  store(store: Store): Store {
    return new Proxy(store, {
      get: (target, method) => {
        const value: unknown = Reflect.get(target, method);
        if (typeof value !== "function") return value;
        return (params: unknown) => this.#call(target, method as keyof Store, value as StoreCall, params);
      },
    });
  }

  clock(clock: Clock): Clock {
    const alive = (callback: () => void) => () => {
      if (!this.#dead) callback();
    };
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimer: (delayMs, callback): Timer => clock.setTimer(delayMs, alive(callback)),
      immediate: (callback) => clock.immediate(alive(callback)),
    };
  }

  notifier(notifier: Notifier): Notifier {
    return {
      publish: (hints) => notifier.publish(hints),
      subscribe: (listener) =>
        notifier.subscribe((hint) => {
          if (!this.#dead) listener(hint);
        }),
    };
  }

  #call(target: Store, method: keyof Store, call: StoreCall, params: unknown): Promise<unknown> {
    if (this.#diesNow({ moment: "before", method, params })) return new Promise<never>(() => {});
    const answered = call.call(target, params);
    return new Promise((resolve, reject) => {
      answered.then(
        (result) => {
          if (!this.#diesNow({ moment: "after", method, params })) resolve(result);
        },
        (error: unknown) => {
          if (!this.#dead) reject(error);
        },
      );
    });
  }

  #diesNow(moment: MortalMoment): boolean {
    if (!this.#dead && this.diesAt?.(moment)) this.kill();
    return this.#dead;
  }
}

type StoreCall = (params: unknown) => Promise<unknown>;
