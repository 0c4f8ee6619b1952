/**
 * User data as the stores see it: self-describing bytes (JSON text, or a tag byte below 0x09 followed by another
 * encoding). A zero-length payload is `undefined`.
 */
export type Payload = Uint8Array;

export const EMPTY_PAYLOAD: Payload = new Uint8Array(0);
