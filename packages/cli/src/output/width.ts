/** How wide text is in a terminal, and how it is cut to fit. */

/** Escape sequences of colors: they take no room. */
const COLORS = /\u001b\[[\d;]*m/g;
/** Letters of East Asia and most emoji are two columns wide; combining marks are none. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;
const NARROWEST = /[\p{Mn}\p{Me}\p{Cf}]/u;
const ELLIPSIS = "…";

export function widthOf(text: string): number {
  const plain = text.replace(COLORS, "");
  // Most text is plain ASCII.
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const letter of plain) width += columns(letter);
  return width;
}

function columns(letter: string): number {
  if (NARROWEST.test(letter)) return 0;
  return WIDE.test(letter) ? 2 : 1;
}

/** One line, without what would move the cursor or color the terminal: values come from anywhere. */
export function oneLine(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, "")
    .trim();
}

/** The same for text of several lines. */
export function harmless(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

export function cutEnd(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width < 1 ? "" : `${take([...text], width - 1).join("")}${ELLIPSIS}`;
}

/** The same for text with colors, which end with it. */
export function cutLine(line: string, width: number): string {
  if (widthOf(line) <= width) return line;
  let left = width - 1;
  let shown = "";
  for (const [part] of line.matchAll(/\u001b\[[\d;]*m|[\s\S]/gu)) {
    const isColor = part.startsWith("\u001b");
    if (!isColor) left -= columns(part);
    if (!isColor && left < 0) break;
    shown += part;
  }
  return `${shown}${shown.includes("\u001b") ? "\u001b[0m" : ""}${ELLIPSIS}`;
}

/** Keeps both ends: of an id, they tell more than the middle. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width < 3) return cutEnd(text, width);
  const letters = [...text];
  const tail = take(letters.toReversed(), Math.floor((width - 1) / 2)).toReversed();
  const head = take(letters, width - 1 - widthOf(tail.join("")));
  return `${head.join("")}${ELLIPSIS}${tail.join("")}`;
}

function take(letters: readonly string[], width: number): string[] {
  const taken: string[] = [];
  let left = width;
  for (const letter of letters) {
    left -= columns(letter);
    if (left < 0) break;
    taken.push(letter);
  }
  return taken;
}

export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - widthOf(text))) + text;
}
