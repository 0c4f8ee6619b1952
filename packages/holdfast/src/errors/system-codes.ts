import type { ErrorCodeInfo } from "./code-info.ts";

/** Failures below the program: stores, leases, stored bytes, Holdfast itself. */
export const SYSTEM_CODES = {
  store_unavailable: {
    group: "event_store",
    caller: "unavailable",
    kind: "DatabaseError",
    summary: "The store cannot be reached or does not answer. Nothing was written.",
    advice: "Bring the database back; workers continue on their own, and a client call can be repeated.",
  },
  store_refused: {
    group: "event_store",
    caller: "inspect",
    kind: "BadRequest",
    summary: "The store answers, but refuses the write and would refuse it again.",
    advice: "cause is the driver's error: missing migration, missing permission, or data that it cannot store.",
  },
  store_outcome_unknown: {
    group: "event_store",
    caller: "retry_later",
    kind: "DatabaseError",
    summary: "The connection broke while a write was in flight; the write may or may not have taken effect.",
    advice: "Repeat the same call with the same ids: every write is idempotent.",
  },
  transaction_failed: {
    group: "event_store",
    caller: "retry_later",
    kind: "DatabaseError",
    summary: "Holdfast's part of your own transaction failed; the transaction cannot be used any more.",
    advice: "Roll it back and repeat all of it; cause is the driver's error.",
  },
  transaction_misused: {
    group: "configuration",
    caller: "bug",
    kind: "BadRequest",
    summary:
      "A transaction was used in a way that would break its guarantee: ended by hand, made read-only, used after its end, or in another file or database.",
    advice:
      "Leave begin, commit and rollback to the code that opened the transaction, and use it only while it is open.",
  },
  lease_lost: {
    group: "concurrency",
    caller: "lost_lease",
    kind: "Unknown",
    summary: "Another worker holds the run now; the write was refused.",
    advice: "Nothing to do: the run continues there. If this happens often, workers stall for longer than their lease.",
  },
  worker_not_running: {
    group: "task_queue",
    caller: "unavailable",
    kind: "ServiceUnavailable",
    summary: "This needs a running worker, and there is none.",
    advice: "Call worker.start(), or start a worker that has this workflow.",
  },
  client_closed: {
    group: "configuration",
    caller: "unavailable",
    kind: "ServiceUnavailable",
    summary:
      "The client was used after hf.close(), or closed while a call or a result was awaited; or the process ends on a signal while nothing is left but the wait for a result.",
    advice: "Close the client last, or connect again. A call that was in flight may have taken effect.",
  },
  codec_failed: {
    group: "codec",
    caller: "inspect",
    kind: "Unknown",
    summary:
      "Stored bytes cannot be read: another codec or a newer version wrote them, or they are damaged. Or a codec of your own has thrown, or encode() has returned something other than a Uint8Array.",
    advice:
      "Connect with the codec that wrote them; update Holdfast if a newer version wrote them. The message says what a codec of your own did.",
  },
  codec_key_missing: {
    group: "codec",
    caller: "unavailable",
    kind: "Unauthorized",
    summary: "Stored bytes are encrypted with a key that this client does not have; the message names its id.",
    advice:
      "Connect with encrypted() and this key among its keys. Parked runs are taken up by workers that have it, tasks are tried again on their own.",
  },
  invariant_broken: {
    group: "unknown",
    caller: "bug",
    kind: "Unknown",
    summary:
      "Holdfast reached a state that should be impossible. Rather than guess, the run that it concerns is parked, or the worker stops.",
    advice: "Report it with the message and the run's history.",
  },
} as const satisfies Record<string, ErrorCodeInfo>;
