/** As deep as the library's own codec writes: a run could read what is deeper, and could not pass it on. */
export const JSON_DEPTH_MAX = 500;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Whether a text that is JSON has lists and objects in each other beyond the limit. Whatever it is, this uses no stack. */
export function isTooDeep(json: Uint8Array): boolean {
  let depth = 0;
  let inText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (inText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if (OPENING.has(byte)) {
      depth += 1;
      if (depth > JSON_DEPTH_MAX) return true;
    } else if (CLOSING.has(byte)) depth -= 1;
  }
  return false;
}
