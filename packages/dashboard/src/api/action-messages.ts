/**
 * Actions: `POST api/{ns}/{path}` with one of these as JSON. `reason` is for the history and the audit log; who it was is what `auth` says.
 * Unless it says otherwise, the answer is 200 with `{}`. Writers may, but for what is marked (admin).
 */

import type { RunFilter } from "./list-messages.ts";
import type { OverlapPolicy, QueueLimits } from "./operation-messages.ts";

/** Also the body of `runs/{run}/cancel`, `…/terminate`, `…/pause`, `…/resume` and `…/retry`. */
export interface RunActionRequest {
  readonly reason?: string;
}

/** `start`. Answers `Started`. */
export interface StartRequest {
  readonly workflow: string;
  /** JSON text, as somebody wrote it; empty for none. Located errors come back as `bad_request` with `data.position`. */
  readonly input?: string;
  readonly id?: string;
  readonly version?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly key?: string;
  /** `"30m"`. */
  readonly timeout?: string;
  readonly delay?: string;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  readonly ifRunning?: "return" | "fail" | "replace";
  readonly ifClosed?: "return" | "start" | "fail";
}

export interface Started {
  readonly id: string;
  readonly runId: string;
  readonly created: boolean;
}

/** `runs/{run}/signal`. */
export interface SignalRequest {
  readonly name: string;
  /** JSON text; empty for none. */
  readonly payload?: string;
  /** Two signals with the same name and id are one: make one when the dialog opens, so that a repeated click sends nothing twice. */
  readonly id?: string;
}

/** `runs/{run}/update` and `runs/{run}/query` (a query is for readers, too). Both answer `Answered`. */
export interface MessageRequest {
  readonly name: string;
  readonly payload?: string;
  readonly id?: string;
}

export interface Answered {
  /** JSON text. */
  readonly result: string;
}

/** `runs/{run}/fork`. Answers `Started`. */
export interface ForkRequest {
  /** An op, or the seq of an event. */
  readonly before: string | number;
  readonly id?: string;
  /** JSON text; left out: the input of the run. */
  readonly input?: string;
  /** JSON texts, by op id: how ops end instead of being executed. */
  readonly edit?: Readonly<Record<string, { readonly result: string } | { readonly error: string }>>;
  readonly reason?: string;
}

/** `batch/count`: what a batch would meet. Answers `BatchCount`. */
export interface BatchCountRequest {
  readonly filter: RunFilter;
}

export interface BatchCount {
  /** Counted up to 10,000. */
  readonly count: number;
  readonly capped: boolean;
  /** Pass it on: only runs created until then are met. */
  readonly createdBefore: number;
}

/** `batch`: begins it. Answers `BatchStarted` at once; `GET batches/{id}` says how far it is. `q` of the filter must not contain OR. */
export interface BatchRequest {
  readonly action: "cancel" | "terminate" | "pause" | "resume" | "retry" | "signal" | "purge";
  readonly filter: RunFilter;
  /** Every run of the namespace, with an empty filter: else that is refused. */
  readonly all?: boolean;
  /** Instead of the filter: these runs; at most 1,000. */
  readonly runIds?: readonly string[];
  readonly createdBefore?: number;
  /** Made when the dialog opens: a repeated click begins nothing twice. */
  readonly id: string;
  readonly reason?: string;
  readonly perSecond?: number;
  readonly signal?: { readonly name: string; readonly payload?: string };
}

/** With `runIds`, it is over already: how many were acted on, and which were left as they were. There is no batch to look at then. */
export interface BatchStarted {
  readonly id: string;
  readonly done?: number;
  readonly skipped?: readonly { readonly runId: string; readonly code: string }[];
}

/** `batches/{id}/pause`, `…/resume`, `…/cancel` (stop): body `RunActionRequest`. */

/** `schedules/create`. Answers `{ id }`. `schedules/{id}/update` takes the same without `id`, and only what changes. */
export interface ScheduleRequest {
  readonly id: string;
  readonly workflow: string;
  readonly input?: string;
  readonly cron?: string | readonly string[];
  /** `"10m"`. */
  readonly every?: string;
  readonly at?: readonly number[];
  readonly timezone?: string;
  readonly jitter?: string;
  readonly overlap?: OverlapPolicy;
  readonly paused?: boolean;
  readonly note?: string;
  readonly version?: string;
  readonly queue?: string;
}

/** `schedules/preview`: the next times of a schedule that need not exist. Answers `{ times: number[] }`. */
export interface SchedulePreviewRequest {
  readonly cron?: string | readonly string[];
  readonly every?: string;
  readonly timezone?: string;
  readonly n?: number;
}

/** `schedules/{id}/pause`, `…/resume`. `schedules/{id}/trigger` (answers `Started`) and `…/delete` take `{}`. */
export interface ScheduleNote {
  readonly note?: string;
}

/** `schedules/{id}/backfill`. Answers a `Backfill`; `GET schedules/{id}/backfills` says how far it is. */
export interface BackfillRequest {
  readonly from: number;
  readonly to: number;
  readonly overlap?: OverlapPolicy;
}

/** `schedules/{id}/backfill/count` takes the same. */
export interface BackfillCount {
  /** Times in the range that have come; counted up to 10,000. */
  readonly count: number;
  readonly capped: boolean;
}

/** `queues/{name}/limits` (admin): all of them; what is left out is removed. */
export interface QueueLimitsRequest {
  readonly limits: QueueLimits;
  /** What the page showed: if somebody has changed them since, nothing is set, and the answer is 409 with `limits_changed`. */
  readonly expected?: QueueLimits;
}

/** `workers/{workerId}/drain` (admin): body `{}`. */

/** `tasks/complete`. `tasks/retry` takes `{ ref }`: a dead letter is taken up again. */
export interface TaskCompletion {
  readonly ref: string;
  /** JSON text. */
  readonly result?: string;
}

/** `tasks/fail`. */
export interface TaskFailure {
  readonly ref: string;
  readonly message: string;
}

/** `workflows/{name}/default`, `…/canary` and `…/deprecate` (admin). */
export interface VersionRequest {
  readonly version: string;
  /** Of `canary`: 0 to 1. */
  readonly share?: number;
  /** Of `deprecate`. */
  readonly deprecated?: boolean;
}

/** `settings/retention` (admin): what is left out is kept forever. Durations as text: `"30 days"`. */
export interface RetentionRequest {
  readonly retention: Readonly<Record<string, string>>;
}

/** `settings/tokens/create` (admin). Answers `{ id, token }`: the token is shown once. */
export interface TokenRequest {
  readonly name: string;
  readonly role: "reader" | "writer" | "worker" | "admin";
  /** `*`: all. */
  readonly namespace: string;
  readonly expiresAt?: number;
}

/** `settings/sessions/{id}/revoke` and `settings/tokens/{id}/revoke` (admin): body `{}`. */

/** `views/save`; `views/remove` takes `{ name }`. */
export interface ViewRequest {
  readonly name: string;
  readonly search: string;
}
