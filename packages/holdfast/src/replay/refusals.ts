/** So many times in one turn a canceled run is told that it is canceled. */
const REFUSALS_PER_TURN_MAX = 1_000;

/** Counts what is asked for in vain. Code that does not take no for an answer would never leave its turn. */
export class Refusals {
  #count = 0;

  newTurn(): void {
    this.#count = 0;
  }

  /** Whether the code may be told once more. */
  another(): boolean {
    this.#count += 1;
    return this.#count <= REFUSALS_PER_TURN_MAX;
  }
}
