/** One run: what it is, why it waits, its ops and events, its relatives. `{run}` in a path is an id or a run id. */
import type { AttributeValue, CauseKind, RunName, RunRow, RunStatus } from "./list-messages.ts";

/** A value as text, never more than was asked for. Redacted on the server, if the user may not see it. */
export interface ShownValue {
  /** `json`: `text` is JSON (of which values JSON cannot hold are written as `{"$date":…}`, `{"$bigint":…}`, …). */
  readonly form: "json" | "none" | "hidden" | "redacted" | "encrypted" | "binary" | "unreadable";
  /** Empty unless `json` or `redacted`. Indented; cut off after the limit, in the middle if need be. For `encrypted`, base64, if there is a codecUrl. */
  readonly text: string;
  readonly truncated: boolean;
  /** As stored. */
  readonly bytes: number;
}

export interface ErrorShown {
  readonly name: string;
  readonly message: string;
  readonly kind: string;
  readonly code?: string;
  readonly stack?: string;
  readonly attempts?: number;
  readonly op?: string;
  readonly task?: string;
  readonly run?: string;
  readonly at?: number;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly cause?: ErrorShown;
}

/** `GET api/{ns}/runs/{run}`. */
export interface RunPage {
  readonly run: RunDetail;
  readonly why: WhyView;
  readonly now: number;
}

export interface RunDetail extends RunRow {
  readonly namespace: string;
  /** First 4 KiB; the rest with `payload/input` and `payload/output`. */
  readonly input: ShownValue;
  readonly output: ShownValue;
  readonly error: ErrorShown | null;
  readonly continuedFrom: string | null;
  readonly continuedAs: string | null;
  readonly parent: (RunName & { readonly op: string | null }) | null;
  readonly root: RunName;
  readonly depth: number;
  readonly forkedFrom: RunName | null;
  /** The id of the schedule that has started it. */
  readonly schedule: string | null;
  /** What can be done with it now, by the state that it is in. Whether the user may is for `role` of the session. */
  readonly actions: readonly RunAction[];
  /** What `cancel` would run, the next one first: "2 compensations will run: charge, reserve". */
  readonly compensations: readonly string[];
  /** Its parent, its origin, the runs before and after it, its children and its forks; each of the last two up to 100. */
  readonly related: number;
  readonly relatedCapped: boolean;
}

export type RunAction = "signal" | "update" | "query" | "cancel" | "terminate" | "pause" | "resume" | "retry" | "fork";

/** Why a run waits, and what resolves it. */
export interface WhyView {
  readonly status: RunStatus;
  /** A few sentences. */
  readonly reason: string;
  readonly dueAt: number | null;
  readonly causes: readonly CauseView[];
  readonly cancelRequested: { readonly at: number; readonly reason: string | null } | null;
  /** The run whose end has ended this one, a child say: a link beside the sentence. */
  readonly otherRun: OtherRun | null;
  /** The button of the strip; null if there is nothing to do but wait. */
  readonly resolve: Resolution | null;
}

export interface OtherRun {
  readonly id: string;
  readonly runId: string;
}

export interface CauseView {
  readonly kind: CauseKind;
  readonly op?: string;
  readonly at?: number;
  readonly since?: number;
  readonly attempt?: number;
  readonly attempts?: number;
  readonly error?: ErrorShown;
  readonly by?: string;
  readonly reason?: string;
  readonly batch?: string;
  readonly worker?: string;
  readonly queue?: string;
  readonly key?: string;
  readonly limit?: {
    readonly of: "queue" | "key";
    readonly concurrency?: number;
    readonly rate?: { readonly limit: number; readonly per: string | number; readonly burst?: number };
  };
  readonly position?: number;
  readonly requires?: readonly string[];
  readonly holders?: readonly RunName[];
  readonly run?: Partial<RunName>;
  readonly cause?: CauseView;
  readonly circle?: readonly string[];
}

/** What the button of the why strip does. Those with `href: true` open a page, the others a dialog. */
export type Resolution =
  | { readonly do: "resume"; readonly label: string }
  | { readonly do: "retry"; readonly label: string }
  | { readonly do: "cancel"; readonly label: string }
  | { readonly do: "signal"; readonly label: string; readonly signal: string }
  | { readonly do: "complete-task"; readonly label: string; readonly op: string }
  | { readonly do: "open-run"; readonly label: string; readonly run: string }
  | { readonly do: "open-queue"; readonly label: string; readonly queue: string }
  | { readonly do: "open-workers"; readonly label: string; readonly queue: string };

/**
 * `GET api/{ns}/runs/{run}/timeline[?since={seq}]`: ops as columns, all of the same length; an op is an index. Times are offsets in
 * milliseconds from `createdAt`; -1 is unknown. With `since`, only ops that events from that seq on are about: replace those of the
 * same name, append the others. The run is always whole: at most 50,000 ops.
 */
export interface Timeline {
  readonly runId: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly now: number;
  /** Pass it as `since` for what follows. */
  readonly seq: number;
  readonly partial: boolean;
  readonly op: readonly string[];
  /** Indexes into `kinds`. */
  readonly kind: readonly number[];
  /** Indexes into `statuses`. */
  readonly state: readonly number[];
  readonly asked: readonly number[];
  readonly began: readonly number[];
  /** Of its last attempt; -1 while it is open. */
  readonly ended: readonly number[];
  readonly due: readonly number[];
  readonly attempts: readonly number[];
  /** The event that made the code ask for it; -1 if unknown. */
  readonly after: readonly number[];
  /** Its first event: a link to it; -1 if it has none yet. */
  readonly first: readonly number[];
  /** Its last event: that of its outcome, if it has ended. */
  readonly last: readonly number[];
  /** Indexes into `workers`, or -1. */
  readonly worker: readonly number[];
  /** Indexes into `groups`, or -1. */
  readonly group: readonly number[];
  readonly kinds: readonly string[];
  /** `running`, `retrying`, `waiting`, `completed`, `failed`, `canceled`. */
  readonly statuses: readonly string[];
  readonly workers: readonly string[];
  /** `parallel#2/branch`. */
  readonly groups: readonly string[];
  /** Attempts that failed, as columns: the index of the op, when it began and ended, and until when the next one waits (-1: there is none). */
  readonly failures: {
    readonly of: readonly number[];
    readonly began: readonly number[];
    readonly ended: readonly number[];
    readonly retry: readonly number[];
    readonly seq: readonly number[];
  };
  /** Runs of child ops, and of steps that have started runs: the index of the op, and the run. */
  readonly runs: { readonly of: readonly number[]; readonly run: readonly Partial<RunName>[] };
  /** Indexes of the ops of the critical path, from the first to the last. */
  readonly critical: readonly number[];
  /** Names of ops that followed in recent runs of this workflow and have not happened here yet: drawn dashed. Only of open runs. */
  readonly expected: readonly { readonly op: string; readonly ms: number }[];
}

/** `GET api/{ns}/runs/{run}/events?from=0&limit=200&types=a,b&ops=a,b&failed=1` (limit at most 200; types and ops percent-encoded). */
export interface EventsWindow {
  readonly events: readonly EventRow[];
  /** For what follows; null if nothing follows so far. With filters, a window may be empty and still say where to go on. */
  readonly next: number | null;
  /** How many events there are, without filters: seqs are 0 to total - 1. */
  readonly total: number;
  readonly now: number;
}

export interface EventRow {
  readonly seq: number;
  readonly type: string;
  readonly category: string;
  readonly op: string | null;
  readonly at: number;
  readonly attempt?: number;
  readonly ms?: number;
  readonly worker?: string;
  readonly fireAt?: number;
  readonly retryAt?: number;
  readonly error?: ErrorShown;
  /** Who did it and why, for what people do. */
  readonly by?: string;
  readonly reason?: string;
  /** First 200 characters of its value, on one line; the rest with `payload/{seq}`. */
  readonly value?: ShownValue;
  /** Whatever else the event says. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/**
 * `GET api/{ns}/runs/{run}/payload/{seq}`, `…/payload/input`, `…/payload/output`: first 64 KiB. With `?download=1`: all of it, as an
 * attachment.
 */
export interface PayloadView {
  readonly value: ShownValue;
  readonly name: string;
}

/** `GET api/{ns}/runs/{run}/data`: everything that the Data tab shows but inputs and results of ops. */
export interface RunData {
  readonly input: ShownValue;
  readonly output: ShownValue;
  readonly error: ErrorShown | null;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

/** `GET api/{ns}/runs/{run}/relations[?cursor=]` (the cursor is that of children). */
export interface Relations {
  /** From the first ancestor to the parent. */
  readonly ancestors: readonly RunRow[];
  readonly children: readonly RunRow[];
  readonly childrenCursor: string | null;
  /** Continue-as-new: from the first run to the last, this one included; at most 50 each way. */
  readonly chain: readonly RunRow[];
  readonly origin: RunRow | null;
  readonly forks: readonly RunRow[];
  /** Other runs of the same id, newest first; at most 50. */
  readonly sameId: readonly RunRow[];
}

/** `GET api/{ns}/runs/{run}/compensation`. */
export interface CompensationView {
  readonly outcome: string | null;
  readonly done: readonly CompensationRow[];
  /** What would run, or will, the next one first. */
  readonly remaining: readonly CompensationRow[];
}

export interface CompensationRow {
  /** The op that is compensated. */
  readonly op: string;
  readonly status: "registered" | "running" | "retrying" | "completed" | "failed";
  readonly attempts: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly error: ErrorShown | null;
  /** Its last event; null if there is none. */
  readonly seq: number | null;
}

/** `GET api/{ns}/runs/{run}/audit`: what people did to it, newest first; from its history, and from the server's audit log. */
export interface RunAudit {
  readonly entries: readonly {
    readonly at: number;
    readonly what: string;
    readonly by: string | null;
    readonly reason: string | null;
    readonly seq: number | null;
    readonly outcome: string | null;
  }[];
}

/** `GET api/{ns}/runs/{run}/export`: an attachment, the run and its history as JSON (redacted if need be). */

/** `GET api/{ns}/compare?a={run}&b={run}[&offset=0]`: aligned by op, at most 1,000 rows. */
export interface Comparison {
  readonly a: RunDetail;
  readonly b: RunDetail;
  readonly sameInput: boolean;
  readonly rows: readonly ComparedOp[];
  /** The index of the first row that differs, in all rows; null if they are alike. */
  readonly parts: number | null;
  readonly total: number;
}

export interface ComparedOp {
  readonly op: string;
  readonly kind: string;
  readonly a: ComparedSide | null;
  readonly b: ComparedSide | null;
  /** What differs: `status`, `result`, `input`, `attempts`, `missing`. Times always do. */
  readonly differs: readonly string[];
}

export interface ComparedSide {
  readonly status: string;
  readonly attempts: number;
  readonly ms: number | null;
  /** First 200 characters. */
  readonly result: ShownValue;
  readonly error: ErrorShown | null;
  readonly seq: number | null;
}

/** `GET api/{ns}/grid?workflow=&version=&limit=50&cursor=`: runs × ops. */
export interface Grid {
  readonly workflow: string;
  readonly runs: readonly RunRow[];
  readonly cursor: string | null;
  /** In the order in which they come; at most 200. If there are more, `opsCapped`. */
  readonly ops: readonly string[];
  readonly opsCapped: boolean;
  /** For each run, for each op: null, or `[index into statuses, attempts, milliseconds or -1, seq]`. */
  readonly cells: readonly (readonly (readonly [number, number, number, number] | null)[])[];
  readonly statuses: readonly string[];
}
