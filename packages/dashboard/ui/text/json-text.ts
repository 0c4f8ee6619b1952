// JSON that people type: where it is wrong, by line and column. Browsers parse it; only for the place of a mistake is it read here,
// because their messages often say none.

export interface JsonMistake {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly mistake: JsonMistake };

/** An empty text is `undefined`: the field was left out. */
export function parseJsonText(text: string): ParsedJson {
  if (text.trim() === "") return { ok: true, value: undefined };
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    const { offset, expected } = firstMistake(text);
    const before = text.slice(0, offset).split("\n");
    const found = offset >= text.length ? "the text ends" : `found ${JSON.stringify([...text.slice(offset)][0])}`;
    const place = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    return { ok: false, mistake: { ...place, message: `${expected} expected, but ${found}` } };
  }
}

interface Mistake {
  readonly offset: number;
  readonly expected: string;
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;

/** Walks the text without recursion, so that deep brackets do not end it. */
function firstMistake(text: string): Mistake {
  const open: ("[" | "{")[] = [];
  let at = skip(text, SPACE, 0);
  let expect: "value" | "key" | "first-key" | "first-value" | "after" = "value";
  for (;;) {
    if (expect === "after") {
      const inside = open.at(-1);
      if (inside === undefined) return { offset: at, expected: "the end" };
      const close = inside === "[" ? "]" : "}";
      if (text[at] === close) open.pop();
      else if (text[at] === ",") expect = inside === "[" ? "value" : "key";
      else return { offset: at, expected: `"," or "${close}"` };
      at = skip(text, SPACE, at + 1);
      continue;
    }
    if (expect === "first-value" && text[at] === "]") {
      expect = "after";
      continue;
    }
    if (expect === "first-key" && text[at] === "}") {
      expect = "after";
      continue;
    }
    if (expect === "key" || expect === "first-key") {
      const end = skip(text, STRING, at);
      if (end === at) return { offset: at, expected: "a name in double quotes" };
      at = skip(text, SPACE, end);
      if (text[at] !== ":") return { offset: at, expected: '":"' };
      at = skip(text, SPACE, at + 1);
      expect = "value";
      continue;
    }
    const opening = text[at];
    if (opening === "[" || opening === "{") {
      open.push(opening);
      expect = opening === "[" ? "first-value" : "first-key";
      at = skip(text, SPACE, at + 1);
      continue;
    }
    const end = Math.max(skip(text, STRING, at), skip(text, NUMBER, at), skip(text, WORD, at));
    if (end === at) return { offset: at, expected: "a value" };
    at = skip(text, SPACE, end);
    expect = "after";
  }
}

function skip(text: string, pattern: RegExp, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
