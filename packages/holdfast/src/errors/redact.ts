/**
 * Masks credentials in text that is about to be stored or shown. It prefers to mask too much: a lost diagnostic word is
 * cheaper than a password kept forever.
 *
 * Every pattern has a bounded or literal start, so that even hostile text takes linear time.
 */

export const MASK = "[redacted]";

const SECRET_NAME =
  "password|passwd|passphrase|pwd|secret|credential|api[_-]?key|access[_-]?key|private[_-]?key|cookie";
const TOKEN_NAME = "token|session[_-]?id|authorization";
const SECRET_KEY = new RegExp(`${SECRET_NAME}|${TOKEN_NAME}`, "i");
// What may be between a name and its value: password=x, "password": "x", \"password\":\"x\" inside other JSON.
const SEPARATOR = `\\\\?["']?\\s{0,3}[=:]\\s{0,3}`;
// The closing quote is optional: the text may have been cut before it.
const QUOTED = `\\\\"[^"]*"?|"(?:[^"\\\\]|\\\\[^])*"?|'(?:[^'\\\\]|\\\\[^])*'?`;
// An error that is rethrown is recorded again: what is already masked stays as it is.
const UNMASKED = "(?!\\[redacted\\])";

type Rule = readonly [pattern: RegExp, replacement: string];

const RULES: readonly Rule[] = [
  // -----BEGIN RSA PRIVATE KEY----- … to its end, or to the end of the text if that was cut.
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, MASK],
  // scheme://user:password@host. The password may contain unescaped "/" or "@": that is why such URLs end up in errors.
  [/(:\/\/[^\s:@/"'`<>]{0,256}:)[^\s"'`<>]{1,1024}@/g, `$1${MASK}@`],
  // https://token@host
  [/(https?:\/\/)[^\s:@/"'`<>]{1,1024}@/gi, `$1${MASK}@`],
  // Authorization: Bearer x, Authorization: Basic x, and a bearer token anywhere else.
  [/(\bauthorization\\?["']?\s{0,3}[=:]\s{0,3}\\?["']?[a-z]{1,20} {1,3})[^\s"'\\,]+/gi, `$1${MASK}`],
  [/(\bbearer\s{1,3})(?!token\b|auth[a-z]{0,20}\b|scheme\b|credentials?\b)[^\s"'\\,;]+/gi, `$1${MASK}`],
  [/(\b(?:set-)?cookie\\?["']?\s{0,3}:\s{0,3}\\?["']?)[^\r\n"'\\]+/gi, `$1${MASK}`],
  // password=x, PGPASSWORD: "x y", "api_key":"x"
  [new RegExp(`((?:${SECRET_NAME})[\\w-]{0,40}${SEPARATOR})${UNMASKED}(?:${QUOTED}|[^\\s&;"']+)`, "gi"), `$1${MASK}`],
  // token=x and "token": "x" as above; after "token: " only what does not look like a word of a sentence.
  [new RegExp(`((?:${TOKEN_NAME})[\\w-]{0,40}(?:${SEPARATOR})(?=\\\\?["']))(?:${QUOTED})`, "gi"), `$1${MASK}`],
  [new RegExp(`((?:${TOKEN_NAME})[\\w-]{0,40}=)${UNMASKED}[^\\s&;"']+`, "gi"), `$1${MASK}`],
  [
    new RegExp(
      `((?:${TOKEN_NAME})[\\w-]{0,40}\\s{0,3}[=:]\\s{0,3})${UNMASKED}(?=[^\\s&;"']{0,40}\\d|[^\\s&;"']{16})[^\\s&;"']+`,
      "gi",
    ),
    `$1${MASK}`,
  ],
  // Keys with a recognizable form: AWS, GitHub, Slack, Stripe and OpenAI, Google, JSON web tokens.
  [/\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ABIA|ACCA)[A-Z0-9]{16}\b/g, MASK],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{20,255})/g, MASK],
  [/\bxox[abeoprs]-[\w-]{10,255}/g, MASK],
  [/\b(?:(?:sk|rk|pk)_(?:live|test)_\w{10,255}|sk-[\w-]{20,255})/g, MASK],
  [/\bAIza[\w-]{35}/g, MASK],
  [/\beyJ[\w-]{8,4096}\.[\w-]{8,4096}(?:\.[\w-]{0,4096})?/g, MASK],
];

export function redactText(text: string): string {
  let masked = text;
  for (const [pattern, replacement] of RULES) masked = masked.replace(pattern, replacement);
  return masked;
}

/** Whether the name of a key alone says that its value is a credential. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key);
}
