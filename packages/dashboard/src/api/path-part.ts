/**
 * Texts as parts of a path. Browsers take `.` and `..` away from one, percent-encoded or not, so these two are written with a tilde in front;
 * and so is whatever already looks like that, with one more.
 */
const DOTS = /^~*\.{1,2}$/;
const WRITTEN_DOTS = /^~+\.{1,2}$/;

/** Percent-encoded. */
export function encodedPart(part: string | number): string {
  const text = String(part);
  return encodeURIComponent(DOTS.test(text) ? `~${text}` : text);
}

/** Of a part without its percent signs. */
export function decodedPart(part: string): string {
  return WRITTEN_DOTS.test(part) ? part.slice(1) : part;
}
