import { HoldfastError } from "holdfast/adapter";

const NO_BYTES = new Uint8Array(0);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Sixteen bytes; none at all for a text that is no UUID, which then matches nothing. */
export function uuidBytes(text: string): Uint8Array {
  if (!UUID.test(text)) return NO_BYTES;
  // Without a copy that has no dashes: this happens for every run of every flush.
  const bytes = new Uint8Array(16);
  for (let i = 0, at = 0; i < 36; i += 2) {
    if (text.charCodeAt(i) === DASH) i += 1;
    bytes[at++] = (nibble(text.charCodeAt(i)) << 4) | nibble(text.charCodeAt(i + 1));
  }
  return bytes;
}

const DASH = 0x2d;

/** The value of a hexadecimal digit, of either case. */
function nibble(code: number): number {
  return (code & 0xf) + (code > 0x39 ? 9 : 0);
}

/** For ids that are about to be stored. */
export function newUuidBytes(text: string): Uint8Array {
  const bytes = uuidBytes(text);
  if (bytes.length === 16) return bytes;
  throw new HoldfastError("invariant_broken", `SQLite store: the id "${text}" is not a UUID`);
}

export function uuidText(bytes: Uint8Array): string {
  return uuidOfHex(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex"));
}

/** From 32 digits in lower case. */
export function uuidOfHex(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function uuidTextOrNull(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : uuidText(bytes);
}
