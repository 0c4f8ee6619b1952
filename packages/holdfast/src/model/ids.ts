/** Time-ordered UUID (version 7) from a time and sixteen random bytes; pure, so that the simulator can replay it. */
export function uuidV7(nowMs: number, random: Uint8Array): string {
  const low = Math.floor(nowMs) % 0x10000;
  const middle = Math.floor(nowMs / 0x10000) % 0x10000;
  const high = Math.floor(nowMs / 0x100000000) % 0x10000;
  return `${hex16(high)}${hex16(middle)}-${hex16(low)}-${uuidEnd(random, 7)}`;
}

/** Sixteen bytes as a UUID, with version and variant stamped in. */
export function formatUuid(bytes: Uint8Array, version: number): string {
  return `${hex16At(bytes, 0)}${hex16At(bytes, 2)}-${hex16At(bytes, 4)}-${uuidEnd(bytes, version)}`;
}

/** What comes behind the first six of sixteen bytes. */
function uuidEnd(bytes: Uint8Array, version: number): string {
  const third = (word(bytes, 6) & 0x0fff) | (version << 12);
  const fourth = (word(bytes, 8) & 0x3fff) | 0x8000;
  return `${hex16(third)}-${hex16(fourth)}-${hex16At(bytes, 10)}${hex16At(bytes, 12)}${hex16At(bytes, 14)}`;
}

function hex16At(bytes: Uint8Array, at: number): string {
  return hex16(word(bytes, at));
}

function word(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

function hex16(value: number): string {
  return `${HEX[value >> 8]}${HEX[value & 0xff]}`;
}

const HEX = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));

/** `charge`, `charge#2`, `charge#3`…: the name of an op plus its occurrence in the run. */
export function opId(name: string, occurrence: number): string {
  return occurrence === 1 ? name : `${name}#${occurrence}`;
}

/** A key that stays the same for every attempt of one op of one run, on whichever worker. */
export function idempotencyKey(runId: string, op: string): string {
  return `${runId}:${op}`;
}

/** The message that carries the outcome of a transaction step. No caller can make such an id: theirs have no tabs. */
export function outcomeMessageId(runId: string, op: string): string {
  return `${runId}\t${op}`;
}
