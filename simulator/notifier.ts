import type { Hint, Notifier } from "../packages/holdfast/src/ports/notifier.ts";
import type { Lane, SimTime } from "./clock.ts";
import type { HintSettings } from "./configuration.ts";
import type { Dice } from "./dice.ts";

interface Listener {
  readonly lane: Lane;
  readonly hear: (hint: Hint) => void;
}

/** Hints that are lost, late, duplicated and out of order, for each listener separately. */
export class SimNotifier implements Notifier {
  readonly #time: SimTime;
  readonly #dice: Dice;
  readonly #listeners = new Set<Listener>();
  settings: HintSettings;

  constructor(time: SimTime, settings: HintSettings, dice: Dice) {
    this.#time = time;
    this.#dice = dice;
    this.settings = settings;
  }

  publish(hints: readonly Hint[]): void {
    for (const listener of this.#listeners) {
      if (listener.lane.dead) {
        this.#listeners.delete(listener);
        continue;
      }
      for (const hint of hints) this.#send(listener, hint);
    }
  }

  #send(listener: Listener, hint: Hint): void {
    const { lost, doubled, late, lateMs } = this.settings;
    if (this.#dice.chance(lost)) return;
    const times = this.#dice.chance(doubled) ? 2 : 1;
    for (let i = 0; i < times; i++) {
      const ms = this.#dice.chance(late) ? this.#dice.next() * lateMs : this.#dice.next() * 2;
      this.#time.at(ms, () => listener.lane.add(() => this.#listeners.has(listener) && listener.hear(hint)));
    }
  }

  /** Hints as a process receives them. */
  forLane(lane: Lane): Notifier {
    return {
      publish: (hints) => this.publish(hints),
      subscribe: (hear) => {
        const listener = { lane, hear };
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
  }

  subscribe(): () => void {
    return () => {};
  }
}
