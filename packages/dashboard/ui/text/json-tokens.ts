// JSON, or the beginning of it, in pieces to color.

export interface JsonToken {
  readonly kind: "key" | "string" | "number" | "redacted" | "other";
  readonly text: string;
}

const PIECE = /("(?:[^"\\]|\\.)*"?)(\s*:)?|(-?\d[\d.eE+-]*|true|false|null)/g;
const REDACTED = /^"(?:\[redacted\]|redacted|▒+)"$/;

/** The pieces, in order; together they are the text. */
export function jsonTokens(text: string): JsonToken[] {
  const tokens: JsonToken[] = [];
  let end = 0;
  for (const match of text.matchAll(PIECE)) {
    if (match.index > end) tokens.push({ kind: "other", text: text.slice(end, match.index) });
    const [whole, quoted, colon, plain] = match;
    if (plain !== undefined) tokens.push({ kind: "number", text: plain });
    else if (quoted !== undefined && colon !== undefined) {
      tokens.push({ kind: "key", text: quoted }, { kind: "other", text: colon });
    } else if (quoted !== undefined) tokens.push({ kind: REDACTED.test(quoted) ? "redacted" : "string", text: quoted });
    end = match.index + whole.length;
  }
  if (end < text.length) tokens.push({ kind: "other", text: text.slice(end) });
  return tokens;
}
