/** Limits that an application may set. Those that it may not are in names.ts; docs/limits.md lists them all. */
export interface Limits {
  /** A larger payload (input, output, result, signal) is reported. */
  readonly payloadWarnBytes: number;
  /** A larger payload is refused before anything is written. */
  readonly payloadMaxBytes: number;
  /** Ops that one run may ask for; beyond it should continue as new. */
  readonly opsMax: number;
  /** Messages that may wait for a run that has not taken them in. */
  readonly inboxMax: number;
}

export const DEFAULT_LIMITS: Limits = {
  payloadWarnBytes: 1024 * 1024,
  payloadMaxBytes: 2 * 1024 * 1024,
  opsMax: 50_000,
  inboxMax: 10_000,
};
