import type { HistoryEvent } from "../../model/event.ts";
import type { Scope } from "../context/scope.ts";

/** One lock that the code has requested or holds, and where it stands according to history. */
export class LockWork {
  readonly name: string;
  /** As recorded, whatever the code says now. */
  limit: number;
  op = "";
  /** The event that made the request: with the run, its key in the store. 0 before it is made. */
  seq = 0;
  /** The code is inside. */
  entered = false;
  /** The store has granted the request. */
  held = false;
  /** The store no longer has the request, because the run has ended since or is a fork: it must be made again. */
  lost = false;
  /** The store has said, since the run is here, that the request is not granted yet: only then may its time be over. */
  inLine = false;
  #fence = 0;
  #scope: Scope | undefined;

  constructor(name: string, limit: number) {
    this.name = name;
    this.limit = limit;
  }

  get fence(): number {
    return this.#fence;
  }

  requested({ seq, op, meta }: HistoryEvent, scope: Scope): void {
    this.op = op as string;
    this.seq = seq;
    this.limit = meta?.limit ?? this.limit;
    this.#scope = scope;
  }

  granted(fence: number): void {
    this.entered = true;
    this.held = true;
    this.#fence = fence;
  }

  lose(): void {
    this.held = false;
    this.lost = true;
  }

  requestedAgain(seq: number): void {
    this.seq = seq;
    this.lost = false;
    this.inLine = false;
  }

  /** Whether code of that scope is inside of what has requested it. */
  isAround(scope: Scope): boolean {
    for (let inner: Scope | null = scope; inner; inner = inner.parent) if (inner === this.#scope) return true;
    return false;
  }
}
