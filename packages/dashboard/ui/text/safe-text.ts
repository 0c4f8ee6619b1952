// What a run, a payload or an error says is hostile. It only ever becomes a text node, so it cannot be markup; what is left are
// characters that change how the text around them is read: controls, and those that turn the direction of writing.

const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const INVISIBLE = /[\u00ad\u200b-\u200d\u2060-\u2064\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const LINE_SEPARATOR = /[\u2028\u2029]/g;

/** The text with every character that cannot be seen, or that turns its surroundings around, spelled out: `\u202e`. */
export function safeText(text: string): string {
  return text
    .replace(CONTROL, spell)
    .replace(DIRECTION, spell)
    .replace(INVISIBLE, spell)
    .replace(LINE_SEPARATOR, spell);
}

/** The same for one line: line ends and tabs are spelled out as well. */
export function safeLine(text: string): string {
  return safeText(text).replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t");
}

/** The first `most` characters, and never half of a pair. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(0, most - 1);
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

function spell(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}
