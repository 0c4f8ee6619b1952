/** The ctx methods that ask for ops: tools rename variables, but not properties. */
const OP_METHODS: ReadonlySet<string> = new Set([
  ...["step", "task", "sleep", "sleepUntil", "receive", "parallel", "race", "uncancelable", "sideEffect", "patched"],
  ...["retired", "compensate", "continueAsNew", "child", "startChild", "until", "withLock", "resultOf"],
]);
/** Words after which a slash begins a regular expression. */
const OPERATOR_WORDS = /^(return|typeof|case|in|of|delete|void|throw|new|else|do|await|yield|instanceof)$/;
/** Strings that tools add or rewrite. */
const NOISE: ReadonlySet<string> = new Set(["", "use strict", "undefined", "u"]);
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v", "0": "\0" };

export interface CodeLiterals {
  /** `method name` of every call of an op; the name only if it is a literal. */
  readonly ops: readonly string[];
  readonly texts: readonly string[];
}

/** Reads the literals of a function. Accepts any JavaScript, and skips what it cannot parse. */
export function literalsOf(source: string): CodeLiterals {
  return new Scanner(source).scan();
}

class Scanner {
  readonly #source: string;
  readonly #ops: string[] = [];
  readonly #texts: string[] = [];
  #at = 0;
  /** The last token: a word, "0" for a number, "s" for a string, or the character itself; and the one before it. */
  #last = "";
  #previous = "";
  /** What is open: the function that is called, "[" (an access: "[]"), "{", or "`" for the inside of a template. */
  readonly #open: string[] = [];
  /** The op whose first argument comes next. */
  #op: string | undefined;

  constructor(source: string) {
    this.#source = source;
  }

  scan(): CodeLiterals {
    while (this.#at < this.#source.length) this.#next();
    return { ops: this.#ops, texts: this.#texts };
  }

  #next(): void {
    const rest = this.#source;
    const character = rest[this.#at] as string;
    if (/\s/.test(character)) this.#at += 1;
    else if (this.#skips("//", "\n") || this.#skips("/*", "*/")) return;
    else if (character === '"' || character === "'") this.#text(this.#quoted(character));
    else if (character === "`") this.#template();
    else if (character === "/" && this.#beginsExpression()) this.#regex();
    else if (/[\p{ID_Start}$_#]/u.test(character)) this.#token(this.#match(/[\p{ID_Continue}$#]+/uy));
    else if (/\d/.test(character)) {
      this.#match(/[\w.]+/y);
      this.#token("0");
    } else this.#punctuation(character);
  }

  #punctuation(character: string): void {
    this.#at += 1;
    if (character === "(") this.#open.push(`(${this.#last}`);
    if (character === "[") this.#open.push(this.#beginsExpression() ? "[" : "[]");
    if (character === "{") this.#open.push("{");
    const closed = ")]}".includes(character) ? this.#open.pop() : undefined;
    const called = character === "(" && this.#previous === "." && OP_METHODS.has(this.#last) ? this.#last : undefined;
    this.#token(character);
    if (called !== undefined) this.#op = called;
    if (closed === "`") this.#templatePart();
  }

  #token(token: string): void {
    if (this.#op !== undefined) this.#ops.push(this.#op);
    this.#op = undefined;
    this.#previous = this.#last;
    this.#last = token;
  }

  /** A key, a property access, or a function name that a tool preserved does not count as a literal. */
  #text(text: string): void {
    const follows = this.#follows();
    const isKey = (this.#last === "{" || this.#last === ",") && follows === ":";
    const isAccess = this.#last === "[" && this.#open.at(-1) === "[]" && follows === "]";
    // A comment with an enum member's name follows its inlined value.
    const isEnum = /^\s*\/\*/.test(this.#source.slice(this.#at, this.#at + 20));
    const isKept = this.#open.at(-1) === "(__name";
    if (this.#op !== undefined) this.#op += ` ${text}`;
    else if (!isKey && !isAccess && !isEnum && !isKept && !NOISE.has(text)) this.#texts.push(text);
    this.#token("s");
  }

  #template(): void {
    this.#at += 1;
    this.#templatePart();
  }

  /** Up to its end, or to the next value in it. */
  #templatePart(): void {
    const begin = this.#at;
    while (this.#at < this.#source.length) {
      if (this.#source[this.#at] === "\\") this.#at += 2;
      else if (this.#source[this.#at] === "`" || this.#source.startsWith("${", this.#at)) break;
      else this.#at += 1;
    }
    const text = decoded(this.#source.slice(begin, this.#at));
    const isEnd = this.#source[this.#at] === "`";
    this.#at += isEnd ? 1 : 2;
    if (!isEnd) this.#open.push("`");
    this.#text(text);
    // The braces begin with an expression.
    if (!isEnd) this.#last = "(";
  }

  #quoted(quote: string): string {
    const begin = ++this.#at;
    while (this.#at < this.#source.length && this.#source[this.#at] !== quote)
      this.#at += this.#source[this.#at] === "\\" ? 2 : 1;
    return decoded(this.#source.slice(begin, this.#at++));
  }

  #regex(): void {
    let inClass = false;
    for (this.#at += 1; this.#at < this.#source.length; this.#at += 1) {
      const character = this.#source[this.#at];
      if (character === "\\") this.#at += 1;
      else if (character === "[") inClass = true;
      else if (character === "]") inClass = false;
      else if (character === "\n" || (character === "/" && !inClass)) break;
    }
    this.#at += 1;
    this.#token("0");
  }

  /** Whether a value comes next: after one, a slash divides and a bracket is an access. */
  #beginsExpression(): boolean {
    const last = this.#last;
    if (/^[\p{ID_Continue}$#]/u.test(last)) return OPERATOR_WORDS.test(last);
    return last !== ")" && last !== "]" && last !== "s";
  }

  #follows(): string | undefined {
    return /\S/.exec(this.#source.slice(this.#at, this.#at + 100))?.[0];
  }

  #skips(begin: string, end: string): boolean {
    if (!this.#source.startsWith(begin, this.#at)) return false;
    const found = this.#source.indexOf(end, this.#at + begin.length);
    this.#at = found < 0 ? this.#source.length : found + end.length;
    return true;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [text = this.#source[this.#at] as string] = pattern.exec(this.#source) ?? [];
    this.#at += text.length;
    return text;
  }
}

function decoded(raw: string): string {
  return raw.replace(/\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|[\s\S])/g, (_, code: string) => {
    if (/^[ux]./.test(code)) return String.fromCodePoint(Number.parseInt(code.replace(/[^0-9a-fA-F]/g, ""), 16));
    if (/^[\r\n]/.test(code)) return "";
    return ESCAPES[code] ?? code;
  });
}
