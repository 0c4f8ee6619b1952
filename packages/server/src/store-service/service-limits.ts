/** The limits of sessions, in one place: docs/limits.md lists them. */
export interface ServiceLimits {
  /** How many concurrent commits are worthwhile for a client: it and the server overlap. */
  readonly commitsInFlightMax: number;
  /** Unanswered calls and bytes of a session, after which it is not read from. */
  readonly callsInFlightMax: number;
  readonly unansweredBytesMax: number;
  /** Larger bodies travel in parts of this size. */
  readonly partBytes: number;
  /** What a message has around its part, at most. */
  readonly envelopeBytes: number;
  readonly payloadBytesMax: number;
  readonly callBytesMax: number;
  /** Hints that the client has not taken; then they are dropped. */
  readonly unsentHintsMax: number;
  /** After this time, and up to a fifth more or less, a client is asked to open another session: so that they spread over servers. */
  readonly sessionAgeMs: number;
  /** How long clients have to find another server when this one drains. */
  readonly leaveMs: number;
  /** How long unanswered calls may take then. */
  readonly drainMs: number;
  /** A session that has not begun after this time is ended. */
  readonly helloMs: number;
  /** How long a poll for hints waits. */
  readonly pollMs: number;
}

export const SERVICE_LIMITS: ServiceLimits = {
  commitsInFlightMax: 2,
  callsInFlightMax: 64,
  unansweredBytesMax: 32 * 1024 * 1024,
  partBytes: 256 * 1024,
  envelopeBytes: 64 * 1024,
  payloadBytesMax: 2 * 1024 * 1024,
  callBytesMax: 64 * 1024 * 1024,
  unsentHintsMax: 1_000,
  sessionAgeMs: 30 * 60_000,
  leaveMs: 1_000,
  drainMs: 10_000,
  helloMs: 10_000,
  pollMs: 20_000,
};
