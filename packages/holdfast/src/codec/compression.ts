import { Buffer } from "node:buffer";
import { brotliCompressSync, brotliDecompressSync, constants, deflateSync, inflateSync } from "node:zlib";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { Payload } from "../model/payload.ts";
import { COMPRESSED_MARK } from "./payload-mark.ts";

/** How a payload was compressed: its second byte. Stored: more may be added, none is ever changed. */
const DEFLATE = 0x01;
const BROTLI = 0x02;
const HEADER_BYTES = 6;

/** As small as deflate makes JSON at its best, in a third of the time. */
const BROTLI_QUALITY = 5;

// Every supported Node has Brotli; other runtimes may lack it. Not zstd: Node 20 could not read what Node 22 has written.
const hasBrotli = typeof brotliCompressSync === "function" && typeof brotliDecompressSync === "function";

/** The payload with its mark in front; the same payload if compression does not make it smaller. */
export function compress(payload: Payload, method: "brotli" | "deflate" = hasBrotli ? "brotli" : "deflate"): Payload {
  const packed = method === "brotli" ? brotli(payload) : deflateSync(payload);
  if (packed.length + HEADER_BYTES >= payload.length) return payload;
  const bytes = Buffer.allocUnsafeSlow(HEADER_BYTES + packed.length);
  bytes[0] = COMPRESSED_MARK;
  bytes[1] = method === "brotli" ? BROTLI : DEFLATE;
  bytes.writeUInt32BE(payload.length, 2);
  bytes.set(packed, HEADER_BYTES);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** What was compressed. The payload has the mark of a compressed one. */
export function decompress(payload: Payload): Payload {
  if (payload.length <= HEADER_BYTES) throw unreadable(payload, "it is cut off");
  const length = new DataView(payload.buffer, payload.byteOffset).getUint32(2);
  const packed = payload.subarray(HEADER_BYTES);
  // A damaged length must not make this process allocate more than was ever stored.
  const options = { maxOutputLength: Math.max(1, length) };
  let bytes: Uint8Array;
  try {
    bytes = unpack(payload, packed, options);
  } catch (cause) {
    throw cause instanceof HoldfastError ? cause : unreadable(payload, "it is damaged", cause);
  }
  if (bytes.length !== length) throw unreadable(payload, `it holds ${bytes.length} bytes instead of ${length}`);
  return bytes;
}

function unpack(payload: Payload, packed: Uint8Array, options: { readonly maxOutputLength: number }): Uint8Array {
  switch (payload[1]) {
    case DEFLATE:
      return inflateSync(packed, options);
    case BROTLI:
      if (hasBrotli) return brotliDecompressSync(packed, options);
      throw unreadable(payload, "this runtime has no Brotli in node:zlib; read it with Node");
    default:
      throw unreadable(payload, `its method ${payload[1]} is unknown; a newer version of Holdfast may have written it`);
  }
}

function brotli(payload: Payload): Uint8Array {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: payload.length,
  };
  return brotliCompressSync(payload, { params });
}

function unreadable(payload: Payload, why: string, cause?: unknown): HoldfastError {
  const message = `A stored value of ${payload.length} bytes cannot be decompressed: ${why}`;
  return new HoldfastError("codec_failed", message, { cause });
}
