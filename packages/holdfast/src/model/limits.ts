/** Limits that an application may set; docs/limits.md lists all limits. */
export interface Limits {
  /**
   * A larger payload (input, output, result, signal) is reported.
   * @defaultValue 1 MiB
   */
  readonly payloadWarnBytes: number;
  /**
   * A larger payload is refused before anything is written.
   * @defaultValue 2 MiB
   */
  readonly payloadMaxBytes: number;
  /**
   * Ops that one run may ask for; a run that needs more should continue as new.
   * @defaultValue `50000`
   */
  readonly opsMax: number;
  /**
   * Messages that may wait in the inbox of a run.
   * @defaultValue `10000`
   */
  readonly inboxMax: number;
}

/** The limits of a client that sets none. */
export const DEFAULT_LIMITS: Limits = {
  payloadWarnBytes: 1024 * 1024,
  payloadMaxBytes: 2 * 1024 * 1024,
  opsMax: 50_000,
  inboxMax: 10_000,
};

/** Search attributes of one run: how many, and the bytes of all their names and values as UTF-8. */
export const ATTRIBUTES_MAX = 100;
export const ATTRIBUTE_BYTES_MAX = 16 * 1024;
