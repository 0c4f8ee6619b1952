import type { Clock, Timer } from "../ports/clock.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Store } from "../ports/store.ts";
import { type StoreMethod, storeAround } from "../ports/store-calls.ts";

/** What a dead process hears. */
const SILENCE = new Promise<never>(() => {});

/** A call of the store that has been made by something mortal, before or after it took effect. */
export interface MortalMoment {
  readonly moment: "before" | "after";
  readonly method: StoreMethod;
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
    const around = storeAround(store, (method, params, call) => this.#call(method, params, call));
    return { ...around, close: () => (this.#dead ? SILENCE : store.close()) };
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

  #call(method: StoreMethod, params: unknown, call: () => Promise<unknown>): Promise<unknown> {
    if (this.#diesNow({ moment: "before", method, params })) return SILENCE;
    const answered = call();
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
