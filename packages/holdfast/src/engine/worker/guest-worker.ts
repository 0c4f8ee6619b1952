import type { Worker } from "./worker.ts";

/** A worker whose runs guests execute, as whoever brings the guests sees it. */
export interface GuestWorker {
  /** Under which it holds runs. */
  readonly workerId: string;
  /** A guest waits for a run. */
  poke(): void;
  /** Gives a run back whose guest has gone. `died`: the guest is dead; `alone`: and had nothing else in its hands. */
  giveBack(runId: string, died?: { readonly alone: boolean }): Promise<void>;
}

export function guestWorker(worker: Worker): GuestWorker {
  return {
    get workerId() {
      return worker.workerId;
    },
    poke: () => worker.pokeForGuest(),
    giveBack: (runId, died) => worker.giveBack(runId, died),
  };
}
