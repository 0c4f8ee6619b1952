// Reads a template of the chart into a tree: text, and the actions between {{ and }}. Only what our templates use; anything else is
// refused, so that a template cannot be half understood.

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value"; readonly words: readonly string[] }
  | { readonly kind: "set"; readonly name: string; readonly words: readonly string[] }
  | { readonly kind: "define"; readonly name: string; readonly body: readonly Part[] }
  | {
      readonly kind: "if" | "with" | "range";
      readonly words: readonly string[];
      readonly body: readonly Part[];
      readonly otherwise: readonly Part[];
    };

type Token = { readonly text: string } | { readonly words: readonly string[] };

export function readParts(template: string): Part[] {
  const tokens = readTokens(template);
  const { parts, end } = readUntil(tokens, 0);
  if (end !== tokens.length) throw new Error("an {{ end }} without a beginning");
  return parts;
}

/** `{{-` takes the white space before it, `-}}` that behind it. */
function readTokens(template: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let trim = false;
  const addText = (text: string): void => {
    if (text !== "") tokens.push({ text });
  };
  for (const found of template.matchAll(/\{\{(- )?\s*([\s\S]*?)\s*(?: (-))?\}\}/g)) {
    const before = template.slice(at, found.index);
    const text = trim ? before.trimStart() : before;
    addText(found[1] ? text.trimEnd() : text);
    tokens.push({ words: wordsOf(found[2] ?? "") });
    trim = found[3] !== undefined;
    at = found.index + found[0].length;
  }
  const rest = template.slice(at);
  addText(trim ? rest.trimStart() : rest);
  return tokens;
}

function wordsOf(action: string): string[] {
  const words = action.match(/"(?:[^"\\]|\\.)*"|:=|[()|]|[^\s()|]+/g) ?? [];
  if (words.length === 0) throw new Error("an empty action");
  return words;
}

function readUntil(tokens: readonly Token[], from: number): { readonly parts: Part[]; readonly end: number } {
  const parts: Part[] = [];
  let at = from;
  while (at < tokens.length) {
    const token = tokens[at] as Token;
    if ("text" in token) parts.push({ kind: "text", text: token.text });
    else {
      const [first = "", ...rest] = token.words;
      if (first === "end" || first === "else") return { parts, end: at };
      if (first === "if" || first === "with" || first === "range" || first === "define") {
        const block = readBlock(tokens, at, first, rest);
        parts.push(block.part);
        at = block.end;
      } else if (rest[0] === ":=") parts.push({ kind: "set", name: first, words: rest.slice(1) });
      else parts.push({ kind: "value", words: token.words });
    }
    at += 1;
  }
  return { parts, end: at };
}

function readBlock(
  tokens: readonly Token[],
  at: number,
  kind: "if" | "with" | "range" | "define",
  words: readonly string[],
): { readonly part: Part; readonly end: number } {
  const body = readUntil(tokens, at + 1);
  const stop = tokens[body.end];
  let otherwise: readonly Part[] = [];
  let { end } = body;
  if (stop && "words" in stop && stop.words[0] === "else") {
    if (stop.words.length > 1) throw new Error("{{ else if }} is not understood");
    ({ parts: otherwise, end } = readUntil(tokens, end + 1));
  }
  if (tokens[end] === undefined) throw new Error(`{{ ${kind} ${words.join(" ")} }} has no {{ end }}`);
  if (kind === "define") return { part: { kind, name: JSON.parse(words[0] ?? '""'), body: body.parts }, end };
  return { part: { kind, words, body: body.parts, otherwise }, end };
}
