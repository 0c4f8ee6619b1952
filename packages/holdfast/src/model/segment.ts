/** A closed stretch of a history in one piece. What the bytes mean is known to calls/segments alone. */
export interface Segment {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly bytes: Uint8Array;
  /** A checksum of the bytes. */
  readonly sum: number;
}
