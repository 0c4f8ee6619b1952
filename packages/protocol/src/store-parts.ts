/** Bodies that travel in parts, so that a large one does not keep heartbeats waiting. */
import { HoldfastError } from "holdfast/adapter";

/** The parts of a body, at least one. */
export function partsOf(body: Uint8Array, partBytes: number): readonly Uint8Array[] {
  if (body.length <= partBytes) return [body];
  const parts: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += partBytes) parts.push(body.subarray(at, at + partBytes));
  return parts;
}

interface Gathered {
  readonly parts: Uint8Array[];
  bytes: number;
}

/** Puts the parts of several bodies together, each under its number. */
export class PartGatherer {
  readonly #bytesMax: number;
  readonly #gathered = new Map<number, Gathered>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** The whole body, once it is there. Throws `store_refused` if it is too large; then nothing of it is kept. */
  add(call: number, part: Uint8Array, more: boolean): Uint8Array | undefined {
    const before = this.#gathered.get(call);
    const bytes = (before?.bytes ?? 0) + part.length;
    if (bytes > this.#bytesMax) {
      this.#gathered.delete(call);
      throw callTooLarge(bytes, this.#bytesMax);
    }
    if (!more && !before) return part;
    const gathered = before ?? { parts: [], bytes: 0 };
    gathered.parts.push(part);
    gathered.bytes = bytes;
    if (more) this.#gathered.set(call, gathered);
    else this.#gathered.delete(call);
    return more ? undefined : joined(gathered);
  }

  drop(call: number): void {
    this.#gathered.delete(call);
  }

  /** How many bytes of unfinished bodies it keeps. */
  get bytes(): number {
    let bytes = 0;
    for (const gathered of this.#gathered.values()) bytes += gathered.bytes;
    return bytes;
  }

  get count(): number {
    return this.#gathered.size;
  }
}

function joined({ parts, bytes }: Gathered): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function callTooLarge(bytes: number, max: number): HoldfastError {
  const message = `A call of ${bytes} bytes is too large: the limit is ${max}. Send less at once.`;
  return new HoldfastError("store_refused", message, { data: { bytes, max } });
}

export function payloadTooLarge(bytes: number, max: number): HoldfastError {
  const message = `A payload of ${bytes} bytes is too large: the server takes at most ${max}. Store large values elsewhere, and pass their address.`;
  return new HoldfastError("store_refused", message, { data: { bytes, max } });
}
