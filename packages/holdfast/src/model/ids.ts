/** Time-ordered UUID (version 7) from a time and sixteen random bytes; pure, so that the simulator can replay it. */
export function uuidV7(nowMs: number, random: Uint8Array): string {
  const bytes = random.slice(0, 16);
  let time = nowMs;
  for (let i = 5; i >= 0; i--) {
    bytes[i] = time % 256;
    time = Math.floor(time / 256);
  }
  return formatUuid(bytes, 7);
}

/** Stamps version and variant into sixteen bytes and prints them as a UUID. */
export function formatUuid(bytes: Uint8Array, version: number): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const head = `${hex16(bytes, 0)}${hex16(bytes, 2)}-${hex16(bytes, 4)}`;
  const middle = `-${hex16(bytes, 6)}-${hex16(bytes, 8)}-`;
  return `${head}${middle}${hex16(bytes, 10)}${hex16(bytes, 12)}${hex16(bytes, 14)}`;
}

/** The two bytes from there on, as four digits. */
function hex16(bytes: Uint8Array, at: number): string {
  return `${HEX[bytes[at] ?? 0]}${HEX[bytes[at + 1] ?? 0]}`;
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
