/**
 * The turn loop: delivers events to runs, one at a time each, and knows when their code has nothing left to do.
 *
 * Invariants
 *  T1. A turn is opened in one macrotask and closed in the next one of the same batch; between the two only microtasks run.
 *      So when a turn closes, the code of that run has come to rest, and nothing but that code ran in between. Only a turn
 *      that runs on (a condition has come true) may outlive its batch; the rest of the process works beside it then.
 *  T2. A run is never in two turns at once, and one tick opens at most one turn of each run.
 *  T3. Opening never throws into its neighbors: a taker handles its own errors.
 * It does not own which event is next (the taker does) or when things are written (the committer does).
 */
export interface TurnTaker {
  /** Whether it waits for its turn; for the loop alone, so that it need not keep a set. */
  inLine: boolean;
  /** Delivers the next event; false if there was none. */
  openTurn(): boolean;
  /** The code has come to rest. True: it runs on, and the turn stays open. */
  closeTurn(): boolean;
}

/** How many deliveries are queued in one pass of the event loop before other work gets its turn. */
const TICKS_PER_BATCH = 8;

let openTurns = 0;

/** Whether any run of this process is in a turn right now: a rejection seen then belongs to workflow code. */
export function anyTurnOpen(): boolean {
  return openTurns > 0;
}

export class TurnLoop {
  readonly #immediate: (callback: () => void) => void;
  #ready: TurnTaker[] = [];
  #open: TurnTaker[] = [];
  #scheduled = false;

  constructor(immediate: (callback: () => void) => void) {
    this.#immediate = immediate;
  }

  /** The taker has something to deliver; asking twice has no further effect. */
  ready(taker: TurnTaker): void {
    if (taker.inLine) return;
    taker.inLine = true;
    this.#ready.push(taker);
    if (!this.#scheduled) this.#schedule();
  }

  #schedule(): void {
    this.#scheduled = true;
    for (let i = 1; i < TICKS_PER_BATCH; i++) this.#immediate(this.#tick);
    this.#immediate(this.#lastTick);
  }

  readonly #tick = (): void => {
    this.#closeAll();
    if (this.#ready.length === 0) return;
    const takers = this.#ready;
    this.#ready = [];
    // All of them first: if one throws after all, the others can still queue again.
    for (const taker of takers) taker.inLine = false;
    for (const taker of takers) {
      if (!taker.openTurn()) continue;
      this.#open.push(taker);
      openTurns += 1;
    }
  };

  readonly #lastTick = (): void => {
    this.#closeAll();
    this.#scheduled = false;
    if (this.#ready.length > 0 || this.#open.length > 0) this.#schedule();
  };

  #closeAll(): void {
    if (this.#open.length === 0) return;
    const open = this.#open;
    this.#open = [];
    for (const taker of open) {
      if (taker.closeTurn()) this.#open.push(taker);
      else openTurns -= 1;
    }
  }
}
