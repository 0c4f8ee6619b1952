import { isHoldfastError } from "holdfast/adapter";
import type { ApiError } from "../api/api-messages.ts";
import { plainWords } from "./plain-words.ts";

/** An answer with a status of 400 or above. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: ApiError;

  constructor(status: number, body: ApiError) {
    super(body.message);
    this.name = "Refusal";
    this.status = status;
    this.body = body;
  }
}

export function refusal(
  status: number,
  code: string,
  message: string,
  more: Partial<Pick<ApiError, "data" | "login" | "retryAfterMs">> = {},
): Refusal {
  return new Refusal(status, { code, kind: KINDS[status] ?? "error", message, ...more });
}

const KINDS: Readonly<Record<number, string>> = {
  400: "validation",
  401: "unauthenticated",
  403: "permission",
  404: "not_found",
  413: "validation",
  429: "rate_limited",
};

/** By the code of the error, else by its kind. */
const STATUSES: Readonly<Record<string, number>> = {
  unauthenticated: 401,
  permission_denied: 403,
  namespace_disabled: 403,
  run_not_found: 404,
  schedule_not_found: 404,
  task_not_found: 404,
  worker_not_found: 404,
  handler_not_found: 404,
  rate_limited: 429,
  queue_full: 429,
  payload_too_large: 413,
  query_timeout: 504,
  update_timeout: 504,
  store_unavailable: 503,
  store_outcome_unknown: 503,
  client_closed: 503,
  not_supported: 501,
  invariant_broken: 500,
  codec_failed: 500,
};

/** What any failure of a call is to the page; `undefined` for one that is a fault of ours, which the log gets. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (!isHoldfastError(error)) return undefined;
  const { code, kind, message, data } = error;
  // Most of what the client refuses is about the state of a run, or about what was given.
  const status = STATUSES[code] ?? (code.startsWith("invalid") || code.startsWith("unserializable") ? 400 : 409);
  return new Refusal(status, { code, kind, message: plainWords(message), ...(isRecord(data) ? { data } : {}) });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
