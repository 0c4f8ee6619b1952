/** What the parser and the help know of a verb: data only. */

/** An option of a verb: `--name`, or `--name <value>`. */
export interface VerbOption {
  readonly name: string;
  /** What stands for its value in the help; without it, the option is a switch. */
  readonly value?: string;
  readonly about: string;
  /** It may be given several times. */
  readonly many?: boolean;
  readonly choices?: readonly string[];
}

/** An argument of a verb, by position. */
export interface VerbArgument {
  readonly name: string;
  readonly about: string;
  readonly optional?: boolean;
  /** It takes everything that is left. */
  readonly many?: boolean;
}

export interface VerbShape {
  /** `workflow list`. */
  readonly path: string;
  readonly about: string;
  /** More to say, below the first line of its help. */
  readonly details?: string;
  readonly arguments?: readonly VerbArgument[];
  readonly options?: readonly VerbOption[];
  readonly examples: readonly string[];
}

/** Options that every verb takes. */
export const GLOBAL_OPTIONS: readonly VerbOption[] = [
  { name: "url", value: "url", about: "a store (file:app.db, postgres://…) or a server (http://host:7433)" },
  { name: "namespace", value: "name", about: "the namespace" },
  { name: "token", value: "token", about: "the token for a server" },
  { name: "context", value: "name", about: "the context to take all of these from" },
  { name: "codec", value: "file", about: "a file that exports the codec of the payloads, if they are not JSON" },
  { name: "json", about: "JSON lines on standard output, and nothing else there" },
  { name: "help", about: "help about a verb, with examples" },
  { name: "version", about: "the version of the command" },
];
