/**
 * The first byte of a payload that is not JSON text says what it is. Marks are part of stored histories: more may be added
 * up to 0x08, none is ever changed.
 */
export const MESSAGE_PACK_MARK = 0x01;
/** Then the method, the length of what was compressed (4 bytes, most significant first) and the compressed bytes. */
export const COMPRESSED_MARK = 0x02;
/** Then what encryption.ts describes. */
export const ENCRYPTED_MARK = 0x03;

/** The highest first byte that marks an encoding other than JSON. JSON text starts with 0x09 or above. */
export const MARK_MAX = 0x08;
