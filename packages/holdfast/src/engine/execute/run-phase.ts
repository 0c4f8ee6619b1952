/**
 * Where a run stands with the worker that has it: one state at a time, and the transitions between them.
 *
 *   held ──▶ explaining ──▶ parking          something is wrong with the run; then it is known what
 *   held ──▶ parking                          what is wrong is known at once
 *   held, explaining, parking ──▶ letting-go  a commit is on its way that gives the run up: to suspend, release, end or park it
 *   letting-go ──▶ what it was before         the store keeps it here: messages have come, or the data was refused
 *   letting-go ──▶ suspended                  it waits in the store, and its memory is kept here
 *   held, explaining, parking ──▶ rewinding   the code's last turns are taken back; the store is read for that
 *   rewinding ──▶ what it was before          the code goes on from there
 *   suspended ──▶ held                        it was claimed again, and nobody else had it in between
 *   any ──▶ gone                              final: ended, parked, lost to others, or evicted
 *
 * What is found to be wrong with a run while it is being let go of or rewound is what it goes back to (`base`). The two never
 * overlap: turns are taken back only while nothing is on its way to the store, and nothing is sent while they are.
 */
import type { ErrorRecord } from "../../model/error-record.ts";

/** The worker has the run, and nothing of it is being taken back or given up. */
type Staying =
  | { readonly phase: "held" }
  | { readonly phase: "explaining" }
  | { readonly phase: "parking"; readonly error: ErrorRecord };

type State =
  | Staying
  | { readonly phase: "letting-go"; readonly base: Staying }
  | { readonly phase: "rewinding"; readonly base: Staying }
  | { readonly phase: "suspended" }
  | { readonly phase: "gone" };

// Made once: a run changes its phase several times, and most runs go the same way.
const HELD: Staying = { phase: "held" };
const EXPLAINING: Staying = { phase: "explaining" };
const LETTING_GO: State = { phase: "letting-go", base: HELD };
const REWINDING: State = { phase: "rewinding", base: HELD };
const SUSPENDED: State = { phase: "suspended" };
const GONE: State = { phase: "gone" };

export class RunPhase {
  #state: State = HELD;

  /** Whether turns may be taken. */
  get held(): boolean {
    return this.#state === HELD;
  }

  /** Whether the worker has the run. */
  get here(): boolean {
    return this.#state !== SUSPENDED && this.#state !== GONE;
  }

  get lettingGo(): boolean {
    return this.#state.phase === "letting-go";
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

  /** Whether what is wrong with it is being found out. */
  get explaining(): boolean {
    return baseOf(this.#state) === EXPLAINING;
  }

  /** What the run is to be parked with by its next commit; undefined unless that is decided. */
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

  letGo(): void {
    const base = baseOf(this.#state);
    this.#state = base === HELD ? LETTING_GO : { phase: "letting-go", base };
  }

  rewind(): void {
    const base = baseOf(this.#state);
    this.#state = base === HELD ? REWINDING : { phase: "rewinding", base };
  }

  /** It is not let go of after all, or goes on from where it was rewound to. */
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
    case "letting-go":
    case "rewinding":
      return state.base;
    case "suspended":
    case "gone":
      return HELD;
    default:
      return state;
  }
}

/** What it goes back to changes while it is let go of or rewound. */
function changed(state: State, base: Staying): State {
  if (state.phase === "letting-go") return { phase: "letting-go", base };
  return state.phase === "rewinding" ? { phase: "rewinding", base } : base;
}
