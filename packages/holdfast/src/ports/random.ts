/** The only source of randomness in the engine: ids, jitter. Workflow code has its own, seeded per run. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  bytes(length: number): Uint8Array;
}
