import { HoldfastError } from "holdfast/adapter";

const NO_BYTES = new Uint8Array(0);

/** Sixteen bytes; none at all for a text that is no UUID, which then matches nothing. */
export function uuidBytes(text: string): Uint8Array {
  if (text.length !== 36) return NO_BYTES;
  const bytes = Buffer.from(text.replaceAll("-", ""), "hex");
  return bytes.length === 16 ? bytes : NO_BYTES;
}

/** For ids that are about to be stored. */
export function newUuidBytes(text: string): Uint8Array {
  const bytes = uuidBytes(text);
  if (bytes.length === 16) return bytes;
  throw new HoldfastError("invariant_broken", `SQLite store: the id "${text}" is not a UUID`);
}

export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function uuidTextOrNull(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : uuidText(bytes);
}
