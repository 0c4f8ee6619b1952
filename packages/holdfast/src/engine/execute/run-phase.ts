/**
 * The state of a run on the worker that holds it: one state at a time, and the transitions between them.
 *
 *   held ──▶ explaining ──▶ parking          something is wrong with the run; then the cause is known
 *   held ──▶ parking                          the cause is known at once
 *   held, explaining, parking ──▶ leaving     a commit is in flight that gives the run up: to suspend, release, end or park it
 *   leaving ──▶ its previous state            the store keeps it here: messages have arrived, or the data was refused
 *   leaving ──▶ suspended                     it is suspended in the store and kept in memory here
 *   held, explaining, parking ──▶ rewinding   the code's last turns are taken back; the store is read for that
 *   rewinding ──▶ its previous state          the code continues from there
 *   suspended ──▶ held                        it was claimed again, and no other worker held it in between
 *   any ──▶ gone                              final: ended, parked, lost to others, or evicted
 *
 * Anything found wrong with a run while it is leaving or rewinding becomes the state it returns to (`base`). The two
 * never overlap: turns are taken back only while nothing is in flight to the store, and nothing is sent while they are.
 */
import type { ErrorRecord } from "../../model/error-record.ts";

/** The worker holds the run, and is neither rewinding it nor giving it up. */
type Staying =
  | { readonly phase: "held" }
  | { readonly phase: "explaining" }
  | { readonly phase: "parking"; readonly error: ErrorRecord };

type State =
  | Staying
  | { readonly phase: "leaving"; readonly base: Staying }
  | { readonly phase: "rewinding"; readonly base: Staying }
  | { readonly phase: "suspended" }
  | { readonly phase: "gone" };

// Made once: a run changes its phase several times, and most runs go the same way.
const HELD: Staying = { phase: "held" };
const EXPLAINING: Staying = { phase: "explaining" };
const LEAVING: State = { phase: "leaving", base: HELD };
const REWINDING: State = { phase: "rewinding", base: HELD };
const SUSPENDED: State = { phase: "suspended" };
const GONE: State = { phase: "gone" };

export class RunPhase {
  #state: State = HELD;

  /** Whether turns may be taken. */
  get held(): boolean {
    return this.#state === HELD;
  }

  /** Whether the worker holds the run. */
  get here(): boolean {
    return this.#state !== SUSPENDED && this.#state !== GONE;
  }

  get leaving(): boolean {
    return this.#state.phase === "leaving";
  }

  get rewinding(): boolean {
    return this.#state.phase === "rewinding";
  }

  get suspended(): boolean {
    return this.#state === SUSPENDED;
  }

  get gone(): boolean {
    return this.#state === GONE;
  }

  /** Whether something is wrong with the run, even if it is not known yet what. */
  get inTrouble(): boolean {
    return baseOf(this.#state) !== HELD;
  }

  /** Whether the worker is finding out what is wrong. */
  get explaining(): boolean {
    return baseOf(this.#state) === EXPLAINING;
  }

  /** The error that the run's next commit parks it with; undefined unless that is decided. */
  get parkedWith(): ErrorRecord | undefined {
    const base = baseOf(this.#state);
    return base.phase === "parking" ? base.error : undefined;
  }

  hold(): void {
    this.#state = HELD;
  }

  explain(): void {
    this.#state = changed(this.#state, EXPLAINING);
  }

  park(error: ErrorRecord): void {
    this.#state = changed(this.#state, { phase: "parking", error });
  }

  beginLeaving(): void {
    const base = baseOf(this.#state);
    this.#state = base === HELD ? LEAVING : { phase: "leaving", base };
  }

  rewind(): void {
    const base = baseOf(this.#state);
    this.#state = base === HELD ? REWINDING : { phase: "rewinding", base };
  }

  /** The store keeps the run here after all, or it continues from where it was rewound to. */
  stay(): void {
    this.#state = baseOf(this.#state);
  }

  suspend(): void {
    this.#state = SUSPENDED;
  }

  leave(): void {
    this.#state = GONE;
  }
}

function baseOf(state: State): Staying {
  switch (state.phase) {
    case "leaving":
    case "rewinding":
      return state.base;
    case "suspended":
    case "gone":
      return HELD;
    default:
      return state;
  }
}

/** Changes the state that a run returns to after leaving or rewinding. */
function changed(state: State, base: Staying): State {
  if (state.phase === "leaving") return { phase: "leaving", base };
  return state.phase === "rewinding" ? { phase: "rewinding", base } : base;
}
