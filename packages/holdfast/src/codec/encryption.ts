/**
 * Encrypted payloads: AES-256-GCM.
 *
 *     0x03 | length of the key id (1) | key id (UTF-8) | salt (16) | counter (6) | tag (16) | ciphertext
 *
 * N1. A key and a nonce are never used twice. The user's key encrypts nothing itself: each Sealer derives a key of its own
 *     from it with HKDF-SHA-256 and a random salt, and counts its nonces. Random nonces would be safe for 2³² payloads of
 *     all processes together; this is safe for 2³² of each.
 * N2. Everything in front of the tag is authenticated with the ciphertext. The run is not: payloads move between runs.
 */
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { Payload } from "../model/payload.ts";
import { ENCRYPTED_MARK } from "./payload-mark.ts";
import { newSalt } from "./salt.ts";

/** What an AES-256 key has. */
export const KEY_BYTES = 32;
/** The length of a key id in UTF-8; it is stored with every payload. */
export const KEY_ID_BYTES_MAX = 64;

const CIPHER = "aes-256-gcm";
const SALT_BYTES = 16;
const COUNTER_BYTES = 6;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PAYLOADS_PER_SALT = 2 ** 32;
const DERIVED_FOR = "holdfast payload";
/** One per process that has written; bounded, because processes come and go for years. */
const DERIVED_KEYS_MAX = 1_000;

export type Keys = ReadonlyMap<string, Uint8Array>;

/** Encrypts with one key. */
export class Sealer {
  readonly #key: Uint8Array;
  readonly #id: Uint8Array;
  #derived: KeyObject | undefined;
  #salt: Uint8Array = new Uint8Array(SALT_BYTES);
  #count = 0;

  constructor(id: string, key: Uint8Array) {
    this.#id = Buffer.from(id);
    this.#key = key;
  }

  seal(plain: Payload): Payload {
    if (this.#derived === undefined || this.#count >= PAYLOADS_PER_SALT) this.#renew();
    const id = this.#id;
    const headBytes = 2 + id.length + SALT_BYTES + COUNTER_BYTES;
    const sealed = Buffer.allocUnsafeSlow(headBytes + TAG_BYTES + plain.length);
    sealed[0] = ENCRYPTED_MARK;
    sealed[1] = id.length;
    sealed.set(id, 2);
    sealed.set(this.#salt, 2 + id.length);
    sealed.writeUIntBE(this.#count++, headBytes - COUNTER_BYTES, COUNTER_BYTES);
    const head = sealed.subarray(0, headBytes);
    const cipher = createCipheriv(CIPHER, this.#derived as KeyObject, nonceOf(head));
    cipher.setAAD(head);
    sealed.set(cipher.update(plain), headBytes + TAG_BYTES);
    cipher.final();
    sealed.set(cipher.getAuthTag(), headBytes);
    return new Uint8Array(sealed.buffer, sealed.byteOffset, sealed.length);
  }

  #renew(): void {
    this.#salt = newSalt(SALT_BYTES);
    this.#derived = derive(this.#key, this.#salt);
    this.#count = 0;
  }
}

/** Decrypts what any of several keys has encrypted. */
export class Opener {
  readonly #keys: Keys;
  readonly #derived = new Map<string, KeyObject>();

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  /** What was encrypted. The payload has the mark of an encrypted one. */
  open(payload: Payload): Payload {
    const id = keyIdOf(payload);
    const key = this.#keys.get(id);
    if (key === undefined) throw keyMissing(id, [...this.#keys.keys()]);
    const headBytes = headLength(payload);
    if (payload.length < headBytes + TAG_BYTES) throw cutOff(payload);
    const head = payload.subarray(0, headBytes);
    const salt = head.subarray(headBytes - COUNTER_BYTES - SALT_BYTES, headBytes - COUNTER_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#keyOf(id, key, salt), nonceOf(head));
    decipher.setAAD(head);
    decipher.setAuthTag(payload.subarray(headBytes, headBytes + TAG_BYTES));
    const plain = decipher.update(payload.subarray(headBytes + TAG_BYTES));
    try {
      decipher.final();
    } catch (cause) {
      const what = `A stored value of ${payload.length} bytes cannot be decrypted with the key ${JSON.stringify(id)}`;
      const why = "another key was used under this id, or the bytes are damaged";
      const advice = "Connect with the key that wrote it under that id; damaged bytes have to come from a backup.";
      throw new HoldfastError("codec_failed", `${what}: ${why}. ${advice}`, { data: { keyId: id }, cause });
    }
    return plain;
  }

  #keyOf(id: string, key: Uint8Array, salt: Uint8Array): KeyObject {
    const name = `${Buffer.from(salt).toString("base64")} ${id}`;
    const known = this.#derived.get(name);
    if (known !== undefined) return known;
    const oldest = this.#derived.keys().next();
    if (this.#derived.size >= DERIVED_KEYS_MAX && !oldest.done) this.#derived.delete(oldest.value);
    const derived = derive(key, salt);
    this.#derived.set(name, derived);
    return derived;
  }
}

/** The id of the key that encrypted a payload. */
export function keyIdOf(payload: Payload): string {
  if (payload.length < headLength(payload)) throw cutOff(payload);
  return Buffer.from(payload.buffer, payload.byteOffset + 2, payload[1]).toString();
}

/** `known` are the ids of the keys that the reader has. */
export function keyMissing(id: string, known: readonly string[] = []): HoldfastError {
  const has = known.length === 0 ? "has no keys" : `has ${known.map((one) => JSON.stringify(one)).join(", ")}`;
  const advice = `Connect with encrypted({ keys }) from "holdfast/codecs" and this key among the keys.`;
  return new HoldfastError(
    "codec_key_missing",
    `A stored value is encrypted with the key ${JSON.stringify(id)}; this client ${has}. ${advice}`,
    { data: { keyId: id, known } },
  );
}

function headLength(payload: Payload): number {
  return 2 + (payload[1] ?? 0) + SALT_BYTES + COUNTER_BYTES;
}

function nonceOf(head: Uint8Array): Uint8Array {
  const nonce = new Uint8Array(NONCE_BYTES);
  nonce.set(head.subarray(head.length - COUNTER_BYTES), NONCE_BYTES - COUNTER_BYTES);
  return nonce;
}

function derive(key: Uint8Array, salt: Uint8Array): KeyObject {
  return createSecretKey(new Uint8Array(hkdfSync("sha256", key, salt, DERIVED_FOR, KEY_BYTES)));
}

function cutOff(payload: Payload): HoldfastError {
  return new HoldfastError("codec_failed", `An encrypted value is cut off: ${payload.length} bytes are left of it`);
}
