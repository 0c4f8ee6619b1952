import { Buffer } from "node:buffer";
import { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkOptions,
  invalidOption,
  isPlainObject,
  type OptionCheck,
  type OptionChecks,
  objectWith,
  requireOptions,
  wholeNumber,
} from "../errors/option-checks.ts";
import type { Payload } from "../model/payload.ts";
import type { Codec } from "../ports/codec.ts";
import { json } from "./base-codecs.ts";
import { compress, decompress } from "./compression.ts";
import { KEY_BYTES, KEY_ID_BYTES_MAX, type Keys, keyIdOf, Opener, Sealer } from "./encryption.ts";
import { COMPRESSED_MARK, ENCRYPTED_MARK } from "./payload-mark.ts";

const COMPRESS_ABOVE_BYTES = 262_144;

/** Options of `compressed`. */
export interface CompressedOptions {
  /**
   * Values of up to this many bytes are stored as they are.
   * @defaultValue `262_144` (256 KiB)
   */
  readonly aboveBytes?: number;
}

/** Options of `encrypted`. */
export interface EncryptedOptions {
  /** The id of the key that encrypts. */
  readonly current: string;
  /**
   * Every key that stored values may need, by its id: 32 random bytes each. The id is stored with each value, in plain
   * text. Keep an old key as long as there are values that it encrypted.
   */
  readonly keys: Readonly<Record<string, Uint8Array>>;
  /**
   * What turns values into the bytes that are encrypted.
   * @defaultValue `json()`
   */
  readonly inner?: Codec;
}

const isCodec = objectWith("encode", "decode");
const COMPRESSED_OPTIONS: OptionChecks<CompressedOptions> = { aboveBytes: wholeNumber(0) };
const ENCRYPTED_OPTIONS: OptionChecks<EncryptedOptions> = { current: isKeyId(), keys: areKeys, inner: isCodec };

/**
 * Compresses large values with Brotli (deflate where node:zlib has none), and leaves the others as `inner` writes them.
 * Inside `encrypted`, not around it: encrypted bytes do not compress.
 */
export function compressed(inner: Codec = json(), options: CompressedOptions = {}): Codec {
  isCodec(inner, "compressed", "inner");
  checkOptions(options, COMPRESSED_OPTIONS, "compressed");
  const { aboveBytes = COMPRESS_ABOVE_BYTES } = options;
  return {
    name: `compressed(${inner.name})`,
    encode(value, where): Payload {
      const payload = inner.encode(value, where);
      return payload.length > aboveBytes ? compress(payload) : payload;
    },
    decode: (payload) => inner.decode(payload[0] === COMPRESSED_MARK ? decompress(payload) : payload),
    reencode(payload): Payload {
      const plain = payload[0] === COMPRESSED_MARK ? decompress(payload) : payload;
      const next = inner.reencode?.(plain) ?? plain;
      if (next === plain && plain !== payload) return payload;
      return next.length > aboveBytes ? compress(next) : next;
    },
  };
}

/**
 * Encrypts every value with AES-256-GCM: inputs, outputs, results of steps and tasks, signals, updates, heartbeats. The
 * store sees only their length; `undefined` stays zero bytes. Reads what is not encrypted as `inner` does.
 */
export function encrypted(options: EncryptedOptions): Codec {
  requireOptions(options, ENCRYPTED_OPTIONS, "encrypted");
  const { current, inner = json() } = options;
  if (current === undefined) throw invalidOption("encrypted", "current", "is missing: the id of the key that encrypts");
  if (options.keys === undefined) throw invalidOption("encrypted", "keys", "is missing: a key of 32 bytes for each id");
  // Copied: what happens to the caller's buffers later must not change a key.
  const keys: Keys = new Map(Object.entries(options.keys).map(([id, key]) => [id, Uint8Array.from(key)]));
  const key = keys.get(current);
  if (key === undefined) {
    const ids = [...keys.keys()].map((id) => JSON.stringify(id)).join(", ");
    throw invalidOption("encrypted", "current", `is not the id of one of the keys (${ids || "there are none"})`);
  }
  const sealer = new Sealer(current, key);
  const opener = new Opener(keys);
  return {
    // The ids, because workers that have other keys can continue other runs.
    name: `encrypted(${inner.name}; ${[...keys.keys()].sort().join(" ")})`,
    encode(value, where): Payload {
      const payload = inner.encode(value, where);
      return payload.length === 0 ? payload : sealer.seal(payload);
    },
    decode(payload): unknown {
      const uncompressed = payload[0] === COMPRESSED_MARK ? decompress(payload) : payload;
      return inner.decode(uncompressed[0] === ENCRYPTED_MARK ? opener.open(uncompressed) : uncompressed);
    },
    // What is inside is not looked at if the key is the current one: that would decrypt every value.
    reencode(payload): Payload {
      if (payload.length === 0 || (payload[0] === ENCRYPTED_MARK && keyIdOf(payload) === current)) return payload;
      const uncompressed = payload[0] === COMPRESSED_MARK ? decompress(payload) : payload;
      const plain = uncompressed[0] === ENCRYPTED_MARK ? opener.open(uncompressed) : uncompressed;
      return sealer.seal(inner.reencode?.(plain) ?? plain);
    },
  };
}

function isKeyId(): OptionCheck {
  return (value, where, option) => {
    const bytes = typeof value === "string" ? Buffer.byteLength(value) : 0;
    if (bytes > 0 && bytes <= KEY_ID_BYTES_MAX) return;
    const what = typeof value === "string" ? `has ${bytes} bytes` : `is ${typeOf(value)}`;
    throw invalidOption(where, option, `${what}; a key id is a text of 1 to ${KEY_ID_BYTES_MAX} bytes`);
  };
}

function typeOf(value: unknown): string {
  return value === null ? "null" : `of type ${typeof value}`;
}

/** The faults name ids and lengths, and never a key. */
function areKeys(value: unknown, where: string, option: string): void {
  if (!isPlainObject(value)) throw invalidOption(where, option, "is not an object with a key for each id");
  for (const [id, key] of Object.entries(value as Record<string, unknown>)) {
    isKeyId()(id, where, `an id in ${option}`);
    if (key instanceof Uint8Array && key.length === KEY_BYTES) continue;
    const what = key instanceof Uint8Array ? `has ${key.length} bytes` : `is ${typeOf(key)}`;
    const advice = typeof key === "string" ? ': Buffer.from(text, "base64") makes bytes of base64' : "";
    throw new HoldfastError(
      "invalid_option",
      `${where}: ${option}[${JSON.stringify(id)}] ${what}; it must be a Uint8Array of ${KEY_BYTES} bytes${advice}.`,
      { data: { where, option: `${option}.${id}` } },
    );
  }
}
