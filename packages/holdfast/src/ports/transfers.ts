/** Runs that leave a store for another one, or arrive from one. The promises of every call are in store.ts. */
import type { ArrivalRefusal } from "../model/decisions/arrival.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { RunImage, RunRest, RunTie } from "../model/transfer.ts";

export interface TransferStore {
  /**
   * Which store this is, for good: the first id that it was ever given. Atomic; a repetition, with whichever id, answers the same. A
   * copy of a store answers as the original.
   */
  identify(params: { readonly storeId: string }): Promise<{ readonly storeId: string }>;

  /** What runs have besides row, history and messages; null for a run that does not exist. Read only. */
  read(params: { readonly runs: readonly TransferRef[] }): Promise<readonly (RunRest | null)[]>;

  /**
   * Ends an open run as `moved`: epoch + 1, nobody can claim it or one of its tasks any more, and what its end overwrites is kept
   * beside it (`rest`) until `confirm`. It is not purged before that.
   * Preconditions, judged on the locked row: the run exists, otherwise `not_found`; nobody holds it or one of its tasks, otherwise
   * `held`; it is open and has this epoch, commit number and number of messages, otherwise `changed`: it must be read again;
   * nothing ties it to another run or to a lock, otherwise `tied`. Atomic.
   * Idempotence key: (run, epoch, departureId). A repetition answers `departed`, with the same rest, until `confirm`; another departure is
   * `changed`: it does not decide where this one goes.
   */
  departIfIdle(params: DepartParams): Promise<DepartOutcome>;

  /** Departures that are not confirmed, by run id. */
  departures(params: DeparturesParams): Promise<readonly Departure[]>;

  /**
   * Writes a run as another store had it, with everything that belongs to it; an open run is claimable at once, as soon as it is
   * due. Decided by `judgeArrival`. Of an open run it notes the arrival or the refusal, for good: a mover that was stopped may come late. A departure of the same run
   * from this store that is not confirmed is over when the run comes back.
   * Atomic. Idempotence key: the run id for a closed run, (run id, epoch) for an open one.
   */
  arrive(params: { readonly image: RunImage }): Promise<{ readonly outcome: ArrivalOutcome }>;

  /** The run has arrived: what was kept for the departure is deleted. Repeating it changes nothing. */
  confirm(params: TransferParams): Promise<void>;
}

export interface TransferRef {
  readonly namespace: string;
  readonly runId: string;
}

export interface TransferParams extends TransferRef {
  /** Of the departure: the one that the run has had since. */
  readonly epoch: number;
}

export interface DepartParams extends TransferRef {
  readonly epoch: number;
  readonly commit: number;
  readonly delivered: number;
  /** Made for this departure: whoever repeats the call repeats it. */
  readonly departureId: string;
  /** Where it goes, for `departures`: the store and the namespace, such that no other place has the same. */
  readonly target: string;
  /** The same for people. */
  readonly to: string;
  /** What the closed run says: `run_moved`. */
  readonly error: ErrorRecord;
}

export type DepartOutcome =
  | { readonly outcome: "departed"; readonly rest: RunRest }
  | { readonly outcome: "tied"; readonly tie: RunTie }
  | { readonly outcome: "held" | "changed" | "not_found" | "busy" };

export interface DeparturesParams {
  readonly namespace: string;
  /** Only that of this run. */
  readonly runId?: string;
  /** Only those behind this run id. */
  readonly after?: string;
  readonly limit: number;
}

export interface Departure extends TransferParams {
  readonly target: string;
  readonly to: string;
  readonly at: number;
  readonly rest: RunRest;
}

export type ArrivalOutcome = "arrived" | ArrivalRefusal | "busy";
