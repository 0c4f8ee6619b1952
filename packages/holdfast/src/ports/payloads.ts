/** Stored values, wherever they are, for whoever changes their encoding. The promises of every call are in store.ts. */
import type { Payload } from "../model/payload.ts";
import type { PayloadPlace, PlacedPayload } from "../model/payload-place.ts";

export interface PayloadStore {
  /**
   * For each run: its values after a place, in the order of the places. Read only. Not among them: payloads of zero bytes,
   * which are `undefined`, and messages that carry an error. A list ends after `limitPerRun` values, or after the one with which
   * it has `bytesPerRun` bytes; it is empty only if nothing is left.
   */
  read(params: ReadPayloadsParams): Promise<readonly (readonly PlacedPayload[])[]>;

  /**
   * Writes values in another way; nothing else changes, and nobody is notified. Each is decided separately, on the locked
   * row of its run.
   * Preconditions: the run exists, otherwise `changed`; no process can be about to write these bytes to another place, where
   * nobody would look for them, otherwise `in_use` (`isInUse`); the stored bytes are `from`, otherwise `changed`.
   * Idempotence key: (run, place, to). A value that has the bytes `to` already is `replaced`.
   */
  replaceIfUnchanged(params: ReplacePayloadsParams): Promise<{ readonly outcomes: readonly ReplaceOutcome[] }>;
}

export interface ReadPayloadsParams {
  readonly runs: readonly { readonly namespace: string; readonly runId: string; readonly after: PayloadPlace | null }[];
  readonly limitPerRun: number;
  readonly bytesPerRun: number;
}

export interface ReplacePayloadsParams {
  readonly payloads: readonly ReplacePayload[];
}

export interface ReplacePayload extends PayloadPlace {
  readonly namespace: string;
  readonly runId: string;
  readonly from: Payload;
  readonly to: Payload;
}

export type ReplaceOutcome = "replaced" | "changed" | "in_use" | "busy";
