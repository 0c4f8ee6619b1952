import type { Clock, Timer } from "../ports/clock.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Store } from "../ports/store.ts";
import { type StoreMethod, storeAround } from "../ports/store-calls.ts";

/** The answer to every call of a dead process. */
const SILENCE = new Promise<never>(() => {});

/** A store call made through a mortal life, before or after it took effect. */
export interface MortalMoment {
  readonly moment: "before" | "after";
  readonly method: StoreMethod;
  readonly params: unknown;
}

/**
 * A life that can end between any two lines. At the moment of death, everything reached through it (store, clock,
 * hints) falls silent, as if the process were gone: calls never settle, timers never fire, hints do not arrive.
 */
export class MortalLife {
  #dead = false;
  /** Called for every store call, before it is sent and when its answer has arrived; true means death. */
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
      ...(notifier.watch ? { watch: (runIds) => notifier.watch?.(runIds) ?? (() => {}) } : {}),
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
