/**
 * How errors travel: the status of the call, and an `ErrorDetail` in its details. One row for each of Holdfast's codes: the status
 * that gRPC knows, and the code of the detail. The detail's metadata has Holdfast's own code and kind.
 */
import { create } from "@bufbuild/protobuf";
import type { ErrorCode as HoldfastCode } from "holdfast";
import { type ErrorRecord, HoldfastError, isHoldfastError } from "holdfast/adapter";
import { ErrorCode, type ErrorDetail, ErrorDetailSchema } from "../gen/holdfast/v1/common_pb.js";
import { inWireWords } from "./wire-words.ts";

/** The numbers of gRPC's status codes that are used here; Connect has the same. */
export const RpcCode = {
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  Unauthenticated: 16,
} as const;

export type RpcCodeNumber = (typeof RpcCode)[keyof typeof RpcCode];

export const REFUSALS: Readonly<Record<HoldfastCode, readonly [RpcCodeNumber, ErrorCode]>> = {
  invalid_option: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  invalid_argument: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  invalid_name: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  invalid_duration: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  invalid_schedule: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  invalid_input: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  invalid_output: [RpcCode.Internal, ErrorCode.INTERNAL],
  invalid_signal: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  payload_too_large: [RpcCode.ResourceExhausted, ErrorCode.INVALID_ARGUMENT],
  unserializable_value: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  workflow_not_registered: [RpcCode.NotFound, ErrorCode.NOT_FOUND],
  version_not_registered: [RpcCode.NotFound, ErrorCode.NOT_FOUND],
  duplicate_workflow: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  adapter_not_installed: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  unknown_url_scheme: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  not_supported: [RpcCode.Unimplemented, ErrorCode.PRECONDITION_FAILED],
  run_not_found: [RpcCode.NotFound, ErrorCode.NOT_FOUND],
  queue_full: [RpcCode.ResourceExhausted, ErrorCode.UNAVAILABLE],
  run_already_exists: [RpcCode.AlreadyExists, ErrorCode.CONFLICT],
  worker_not_found: [RpcCode.NotFound, ErrorCode.NOT_FOUND],
  schedule_not_found: [RpcCode.NotFound, ErrorCode.NOT_FOUND],
  schedule_already_exists: [RpcCode.AlreadyExists, ErrorCode.CONFLICT],
  start_many_incomplete: [RpcCode.FailedPrecondition, ErrorCode.CONFLICT],
  workflow_mismatch: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  run_closed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  run_not_failed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  fork_refused: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  run_not_closed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  run_still_needed: [RpcCode.Unavailable, ErrorCode.UNAVAILABLE],
  batch_id_taken: [RpcCode.AlreadyExists, ErrorCode.CONFLICT],
  run_failed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  run_canceled: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  run_terminated: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  run_timed_out: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  result_timeout: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  step_failed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  step_timeout: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  step_crashed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  application_error: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  op_canceled: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  race_failed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  outside_turn: [RpcCode.Internal, ErrorCode.INTERNAL],
  run_ended: [RpcCode.Internal, ErrorCode.INTERNAL],
  inside_step: [RpcCode.Internal, ErrorCode.INTERNAL],
  too_many_ops: [RpcCode.Internal, ErrorCode.INTERNAL],
  too_many_signals: [RpcCode.ResourceExhausted, ErrorCode.UNAVAILABLE],
  replay_divergence: [RpcCode.Internal, ErrorCode.INTERNAL],
  workflow_bug: [RpcCode.Internal, ErrorCode.INTERNAL],
  paused: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  run_parked: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  version_changed: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  cancel_ignored: [RpcCode.Internal, ErrorCode.INTERNAL],
  crash_unsafe: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  crash_loop: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  foreign_await: [RpcCode.Internal, ErrorCode.INTERNAL],
  forgotten_await: [RpcCode.Internal, ErrorCode.INTERNAL],
  non_retryable: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  retryable: [RpcCode.Unavailable, ErrorCode.UNAVAILABLE],
  task_failed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  task_timeout: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  task_heartbeat_timeout: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  task_start_timeout: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  task_total_timeout: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  task_crashed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  task_canceled: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  task_pool_failed: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  task_not_found: [RpcCode.NotFound, ErrorCode.NOT_FOUND],
  task_closed: [RpcCode.FailedPrecondition, ErrorCode.CONFLICT],
  store_unavailable: [RpcCode.Unavailable, ErrorCode.UNAVAILABLE],
  store_refused: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  store_outcome_unknown: [RpcCode.Unavailable, ErrorCode.UNAVAILABLE],
  transaction_failed: [RpcCode.Unavailable, ErrorCode.UNAVAILABLE],
  transaction_misused: [RpcCode.Internal, ErrorCode.INTERNAL],
  lease_lost: [RpcCode.Aborted, ErrorCode.CONFLICT],
  worker_not_running: [RpcCode.Unavailable, ErrorCode.UNAVAILABLE],
  client_closed: [RpcCode.Unavailable, ErrorCode.UNAVAILABLE],
  codec_failed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  codec_key_missing: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  invariant_broken: [RpcCode.Internal, ErrorCode.INTERNAL],
  child_depth_exceeded: [RpcCode.Internal, ErrorCode.INTERNAL],
  namespace_refused: [RpcCode.PermissionDenied, ErrorCode.UNAUTHORIZED],
  lock_timeout: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  lock_held: [RpcCode.Internal, ErrorCode.INTERNAL],
  update_rejected: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  update_failed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  update_timeout: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  handler_not_found: [RpcCode.NotFound, ErrorCode.NOT_FOUND],
  run_continued: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  run_moved: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  file_failed: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  invalid_export: [RpcCode.InvalidArgument, ErrorCode.INVALID_ARGUMENT],
  query_failed: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  run_not_begun: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  query_timeout: [RpcCode.DeadlineExceeded, ErrorCode.TIMEOUT],
  update_id_taken: [RpcCode.AlreadyExists, ErrorCode.CONFLICT],
  unauthenticated: [RpcCode.Unauthenticated, ErrorCode.UNAUTHORIZED],
  permission_denied: [RpcCode.PermissionDenied, ErrorCode.UNAUTHORIZED],
  rate_limited: [RpcCode.ResourceExhausted, ErrorCode.UNAVAILABLE],
  namespace_not_found: [RpcCode.NotFound, ErrorCode.NOT_FOUND],
  namespace_already_exists: [RpcCode.AlreadyExists, ErrorCode.CONFLICT],
  namespace_disabled: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
  token_not_found: [RpcCode.NotFound, ErrorCode.NOT_FOUND],
  guest_run_lost: [RpcCode.Aborted, ErrorCode.CONFLICT],
  steps_open: [RpcCode.FailedPrecondition, ErrorCode.PRECONDITION_FAILED],
};

/** What data of an error says what it is about: the field, and the word for it. */
const SUBJECTS: readonly (readonly [string, string])[] = [
  ["scheduleId", "schedule"],
  ["workerId", "worker"],
  ["namespace", "namespace"],
  ["tokenId", "token"],
  ["runId", "run"],
  ["id", "run"],
  ["workflow", "workflow"],
  ["name", "name"],
];

const MESSAGE_LENGTH_MAX = 1_000;
/** The longest id of a run. */
const SUBJECT_LENGTH_MAX = 400;

/** What nobody is told about: it may name files, addresses, statements. */
const HIDDEN: ReadonlySet<RpcCodeNumber> = new Set([RpcCode.Internal]);

export interface Refusal {
  readonly code: RpcCodeNumber;
  readonly message: string;
  readonly detail: ErrorDetail;
}

/** If nothing better is known: the store is away, or all of its connections are taken. */
const RETRY_AFTER_MS: ReadonlyMap<RpcCodeNumber, number> = new Map([[RpcCode.Unavailable, 1_000]]);

/** The answer for an error. Of one that is not Holdfast's own, nothing is told but that it happened. */
export function toRefusal(error: unknown): Refusal {
  if (!isHoldfastError(error)) return internal();
  const [code, detailCode] = REFUSALS[error.code] ?? [RpcCode.Internal, ErrorCode.INTERNAL];
  if (HIDDEN.has(code)) return internal(error.code);
  const message = shownMessage(error);
  const [subject, subjectId] = subjectOf(error);
  const retryAfterMs = error.data["retryAfterMs"];
  const detail = create(ErrorDetailSchema, {
    code: detailCode,
    message,
    nonRetryable:
      code !== RpcCode.Unavailable && code !== RpcCode.ResourceExhausted && code !== RpcCode.DeadlineExceeded,
    retryAfterMs: BigInt(typeof retryAfterMs === "number" ? Math.ceil(retryAfterMs) : (RETRY_AFTER_MS.get(code) ?? 0)),
    subject,
    subjectId,
    metadata: { code: error.code, kind: error.kind },
  });
  return { code, message, detail };
}

/** Instead of what a store says of itself: its address, its file, its statements. */
const STORE_MESSAGES: Readonly<Record<string, string>> = {
  store_unavailable: "The store of the server does not answer. Nothing has happened: repeat the call.",
  store_outcome_unknown:
    "The store of the server has not answered: the call may have happened or not. Repeat it unchanged.",
  store_refused: "The store of the server cannot keep this data; the log of the server has the details.",
};

/** Reads are answered, and writes are not: whoever is told that the store is away looks for the fault where there is none. */
const DISK_FULL =
  "The disk of the server's store is full: it can be read, but not written. Nothing has happened. Free some space there, and repeat the call.";
/** SQLITE_FULL, also with more in its upper bytes; `disk_full` of PostgreSQL. */
const SQLITE_FULL = 13;
const SQL_STATE_FULL = "53100";

function shownMessage({ code, message, data }: HoldfastError): string {
  const { errcode, sqlState } = data;
  const isOfStore = "where" in data || "file" in data;
  const isFull = (typeof errcode === "number" && (errcode & 0xff) === SQLITE_FULL) || sqlState === SQL_STATE_FULL;
  const ofStore = code === "store_unavailable" && isFull ? DISK_FULL : STORE_MESSAGES[code];
  const words = (isOfStore ? ofStore : undefined) ?? inWireWords(message, data);
  return shortened(words, MESSAGE_LENGTH_MAX);
}

/** A message may quote what was sent, however long that is. Its end says what to do. */
function shortened(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = Math.floor(max / 2);
  return `${text.slice(0, half)} … ${text.slice(-half)}`;
}

function internal(code = "invariant_broken"): Refusal {
  const message = "The server met an error that it did not expect; its log has the details.";
  const detail = create(ErrorDetailSchema, { code: ErrorCode.INTERNAL, message, metadata: { code, kind: "Unknown" } });
  return { code: RpcCode.Internal, message, detail };
}

function subjectOf({ data, code }: HoldfastError): readonly [string, string] {
  if (code.startsWith("schedule_") && typeof data["id"] === "string")
    return ["schedule", shortened(data["id"], SUBJECT_LENGTH_MAX)];
  for (const [field, subject] of SUBJECTS) {
    const value = data[field];
    if (typeof value === "string") return [subject, shortened(value, SUBJECT_LENGTH_MAX)];
  }
  return ["", ""];
}

/** Why a run or a step has failed. */
export function toErrorDetail(error: Partial<ErrorRecord> & Pick<ErrorRecord, "kind">): ErrorDetail {
  const { name = "Error", message = "", kind, code } = error;
  const known = code !== undefined && Object.hasOwn(REFUSALS, code) ? REFUSALS[code as HoldfastCode][1] : undefined;
  return create(ErrorDetailSchema, {
    code: known ?? KINDS[kind],
    message,
    nonRetryable: code === "non_retryable",
    ...(error.op === undefined ? {} : { subject: "step", subjectId: error.op }),
    metadata: { name, kind, ...(code === undefined ? {} : { code }) },
  });
}

const KINDS: Readonly<Record<ErrorRecord["kind"], ErrorCode>> = {
  NetworkError: ErrorCode.UNAVAILABLE,
  Timeout: ErrorCode.TIMEOUT,
  DatabaseError: ErrorCode.UNAVAILABLE,
  RateLimitExceeded: ErrorCode.UNAVAILABLE,
  ServiceUnavailable: ErrorCode.UNAVAILABLE,
  NotFound: ErrorCode.NOT_FOUND,
  Unauthorized: ErrorCode.UNAUTHORIZED,
  BadRequest: ErrorCode.INVALID_ARGUMENT,
  ValidationError: ErrorCode.INVALID_ARGUMENT,
  Unknown: ErrorCode.INTERNAL,
};

const DETAIL_KINDS: Readonly<Partial<Record<ErrorCode, ErrorRecord["kind"]>>> = {
  [ErrorCode.NOT_FOUND]: "NotFound",
  [ErrorCode.INVALID_ARGUMENT]: "BadRequest",
  [ErrorCode.PRECONDITION_FAILED]: "BadRequest",
  [ErrorCode.CONFLICT]: "BadRequest",
  [ErrorCode.UNAUTHORIZED]: "Unauthorized",
  [ErrorCode.UNAVAILABLE]: "ServiceUnavailable",
  [ErrorCode.TIMEOUT]: "Timeout",
};

/** An error that code in another language has reported, for retry rules and histories. */
export function fromErrorDetail(detail: ErrorDetail | undefined): HoldfastError {
  const message = detail?.message || "no reason was given";
  const kind = DETAIL_KINDS[detail?.code ?? ErrorCode.UNSPECIFIED] ?? "Unknown";
  if (detail?.nonRetryable) return named(new HoldfastError("non_retryable", message, { kind }), detail);
  const afterMs = Number(detail?.retryAfterMs ?? 0n);
  const after = afterMs > 0 ? { data: { afterMs } } : {};
  return named(new HoldfastError(afterMs > 0 ? "retryable" : "application_error", message, { kind, ...after }), detail);
}

function named(error: HoldfastError, detail: ErrorDetail | undefined): HoldfastError {
  const name = detail?.metadata["name"];
  if (name) Object.defineProperty(error, "name", { value: name, configurable: true });
  return error;
}
