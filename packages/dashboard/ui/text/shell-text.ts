// Text that people paste into a shell. Whatever an id contains, it stays one word; the token is a variable, never its value.

/** One word of a POSIX shell. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_./:@%+=-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `holdfast run get 'a b' --namespace shop`. */
export function cliText(words: readonly string[]): string {
  return words.map(shellWord).join(" ");
}

export interface CurlRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly body?: unknown;
  /** False where the server needs no token. */
  readonly token: boolean;
}

export function curlText({ method, url, body, token }: CurlRequest): string {
  const words = ["curl", "-sS"];
  if (method !== "GET") words.push("-X", method);
  words.push(shellWord(url));
  if (token) words.push("-H", `"Authorization: Bearer $HOLDFAST_TOKEN"`);
  if (body !== undefined)
    words.push("-H", shellWord("content-type: application/json"), "-d", shellWord(JSON.stringify(body)));
  return words.join(" ");
}

/** A string of TypeScript. */
export function codeText(value: unknown): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
}
