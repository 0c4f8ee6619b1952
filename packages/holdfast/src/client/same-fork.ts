/** A fork that is asked for again under its id, by whoever does not know what became of the first call, is the same run. */
import { Buffer } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import type { ErrorRecord } from "../model/error-record.ts";
import type { Payload } from "../model/payload.ts";
import type { Run } from "../model/run.ts";
import type { RecordedEdit, RecordedEdits } from "../replay/history/edits.ts";
import type { ClientCore } from "./client-core.ts";

/** What makes a fork the one that it is. */
export interface ForkIdentity {
  readonly id: string;
  readonly origin: Run;
  /** How many events it has of its origin. */
  readonly copied: number;
  readonly input: Payload;
  readonly edits: Payload | undefined;
}

/** That fork, if it exists; undefined if there is no run of its id, or another one. */
export async function findFork(core: ClientCore, wanted: ForkIdentity): Promise<Run | undefined> {
  const { id, origin, copied } = wanted;
  const { namespace } = origin;
  const [newest] = await core.call((store) => store.runs.read({ runs: [{ namespace, id }] }));
  if (!newest) return undefined;
  // It may have continued as new since.
  const { firstRunId: runId } = newest;
  const [first] =
    newest.runId === runId ? [newest] : await core.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
  if (first?.forkedFrom?.runId !== origin.runId) return undefined;
  const page = { runs: [{ namespace, runId, afterSeq: copied }], limitPerRun: 1 };
  const [[fork] = []] = await core.call((store) => store.histories.read(page));
  if (fork?.type !== "run_forked" || fork.meta?.forkedFrom?.runId !== origin.runId) return undefined;
  const { codec } = core.ports;
  const values = (payload: Payload | undefined): unknown => (payload ? codec.decode(payload) : undefined);
  const edits = (payload: Payload | undefined): unknown => comparable((values(payload) ?? {}) as RecordedEdits);
  const same = isSame(first.input, wanted.input, values) && isDeepStrictEqual(edits(fork.payload), edits(wanted.edits));
  return same ? first : undefined;
}

/** Payloads that are encrypted differ although they mean the same; equal ones need no key. */
function isSame(one: Payload, other: Payload, values: (payload: Payload) => unknown): boolean {
  return Buffer.compare(one, other) === 0 || isDeepStrictEqual(values(one), values(other));
}

/** Where an error was made does not matter: whoever repeats the call may have made it elsewhere. */
function comparable(edits: RecordedEdits): readonly unknown[] {
  const plain = (edit: RecordedEdit): unknown => ("error" in edit ? { error: withoutStack(edit.error) } : edit);
  return Object.entries(edits)
    .map(([op, edit]) => [op, plain(edit)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

function withoutStack({ stack: _, cause, ...rest }: ErrorRecord): unknown {
  return cause ? { ...rest, cause: withoutStack(cause) } : rest;
}
