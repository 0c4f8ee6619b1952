/**
 * What the dashboard's pages and its handler say to each other, as JSON. Every time is a number: milliseconds since 1970, by the
 * store's clock. A path is below the base, `{ns}` is a namespace, and every part of a path is percent-encoded.
 *
 * Reads are GET and change nothing. Actions are POST with `content-type: application/json` and `x-holdfast-csrf: 1`.
 * Whatever is refused answers with a status of 400 or above and an `ApiError`.
 */
export type * from "./action-messages.ts";
export type * from "./list-messages.ts";
export type * from "./operation-messages.ts";
export type * from "./run-messages.ts";
export type * from "./settings-messages.ts";

import type { Role } from "./list-messages.ts";

/** The body of every answer with a status of 400 or above. */
export interface ApiError {
  /** Of Holdfast's errors (`run_not_found`), or `bad_request`, `not_found`, `csrf`, `bad_host`, `too_large`. */
  readonly code: string;
  readonly kind: string;
  /** What failed, which id, and what to do about it. */
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
  /** With 401: there is a page to log in (`POST api/login`). Without it, the application that mounts the dashboard has to. */
  readonly login?: boolean;
  /** With 429: when to try again. */
  readonly retryAfterMs?: number;
}

/** `GET api/session`. Also answers 401 with `login: true`, if somebody has to log in first. */
export interface SessionView {
  readonly user: string;
  /** Readers see no action. `admin`: may drain workers, change limits and default versions. */
  readonly role: Role;
  /** Those that may be opened, by name. */
  readonly namespaces: readonly string[];
  /** Where `/` leads unless another one was used last. */
  readonly namespace: string;
  readonly payloads: PayloadRight;
  /** Nobody may change anything here, whatever the role. */
  readonly readOnly: boolean;
  /** Whether `POST api/logout` ends the session. */
  readonly logout: boolean;
  /** Decodes encrypted payloads in the browser: `POST {codecUrl}` with `{ payloads: [base64] }` answers `{ payloads: [json text] }`. */
  readonly codecUrl: string | null;
  readonly version: string;
  /** The store's clock: pages correct ages with it. */
  readonly now: number;
}

export type PayloadRight = "full" | "redacted" | "hidden";

/** `POST api/login`: 200 with a `SessionView` and a cookie, or 401, or 429. `POST api/logout` (body `{}`): 204. */
export interface LoginRequest {
  readonly key: string;
}

/**
 * `GET api/{ns}/live?topics=…`: server-sent events, one stream per visible tab. Topics, separated by commas: `runs` (any run of
 * the namespace), `run:{runId}` (percent-encoded), `schedules`, `queues`, `workers`, `tasks`, `overview`, `batches`,
 * `session` (the visitor is no longer who they were: read `api/session`; the stream ends). Ask again with other topics to change them.
 * The data of every message is one of these as JSON; the `event` of the message is its `type`.
 */
export type LiveMessage =
  /** First: the topics that are watched, and the store's clock. */
  | { readonly type: "hello"; readonly now: number; readonly topics: readonly string[] }
  /** Something may have changed: read it. `runId`, `seq` (the length of its history) and `status` if known. */
  | {
      readonly type: "hint";
      readonly topic: string;
      readonly runId?: string;
      readonly id?: string;
      readonly seq?: number;
      readonly status?: string;
    }
  /** Hints may have been lost: read everything that is shown. */
  | { readonly type: "resync"; readonly topics: readonly string[]; readonly reason: string }
  /** The store does not answer for these topics: nothing is known of them until a hint or a resync. */
  | { readonly type: "away"; readonly topics: readonly string[]; readonly reason: string }
  /** Every 15 s, so that both sides notice a dead connection. */
  | { readonly type: "ping"; readonly now: number };
