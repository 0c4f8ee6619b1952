/**
 * Reads a command line: which verb, and the values of its options and arguments. By `parseArgs` of Node, which costs no start
 * time and no dependency; what is unknown or missing is explained here, because the table of verbs knows what was meant.
 */
import { parseArgs } from "node:util";
import { UsageError } from "../io/failure.ts";
import { nearest } from "./nearest.ts";
import { GLOBAL_OPTIONS, type VerbOption, type VerbShape } from "./verb-shape.ts";

/** The values of options by name, and of arguments by position. */
export interface Values {
  readonly options: ReadonlyMap<string, readonly string[]>;
  readonly words: readonly string[];
}

/** What the words at the beginning of a command line lead to. */
export interface Found<V extends VerbShape = VerbShape> {
  /** The words of the verb, as far as they are known: `["workflow"]` if only the group is named. */
  readonly path: readonly string[];
  readonly verb: V | undefined;
  /** The first word that belongs to no verb. */
  readonly unknown: string | undefined;
  /** The command line without the words of the verb. */
  readonly rest: readonly string[];
}

export function findVerb<V extends VerbShape>(verbs: readonly V[], argv: readonly string[]): Found<V> {
  const path: string[] = [];
  const rest = [...argv];
  let at = 0;
  while (at < rest.length) {
    const word = rest[at] as string;
    if (word === "--") break;
    if (word.startsWith("-")) {
      const option = GLOBAL_OPTIONS.find(({ name }) => `--${name}` === word);
      at += option?.value === undefined ? 1 : 2;
      continue;
    }
    const longer = [...path, word].join(" ");
    if (!verbs.some((verb) => verb.path === longer || verb.path.startsWith(`${longer} `)))
      return { path, verb: undefined, unknown: word, rest };
    path.push(word);
    rest.splice(at, 1);
    const verb = verbs.find((one) => one.path === longer);
    if (verb) return { path, verb, unknown: undefined, rest };
  }
  return { path, verb: undefined, unknown: undefined, rest };
}

/** The values of a verb's options and arguments. `partial`: nothing is required, because only help is wanted. */
export function readValues(verb: VerbShape | undefined, argv: readonly string[]): Values {
  const known = [...GLOBAL_OPTIONS, ...(verb?.options ?? [])];
  const options = Object.fromEntries(
    known.map(({ name, value }) => [name, { type: value === undefined ? ("boolean" as const) : ("string" as const) }]),
  );
  const { tokens } = parseArgs({
    args: [...argv],
    options: { ...options, help: { type: "boolean", short: "h" } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values = new Map<string, string[]>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const option = known.find(({ name }) => name === token.name);
    if (option === undefined) throw unknownOption(token.rawName, verb, known);
    const given = checkedValue(option, token.value, token.inlineValue === true);
    const before = values.get(option.name) ?? [];
    if (before.length > 0 && option.value !== undefined && option.many !== true)
      throw new UsageError(`--${option.name} is given twice.`);
    values.set(option.name, [...before, given]);
  }
  return { options: values, words };
}

/** Refuses arguments that are missing or too many. */
export function requireArguments(verb: VerbShape, words: readonly string[]): void {
  const wanted = verb.arguments ?? [];
  const missing = wanted.find(({ optional }, index) => optional !== true && words[index] === undefined);
  if (missing)
    throw new UsageError(`<${missing.name}> is missing: ${missing.about}. See: holdfast ${verb.path} --help`);
  const last = wanted.at(-1);
  if (words.length > wanted.length && last?.many !== true)
    throw new UsageError(
      `"${words[wanted.length]}" is too much: ${verb.path} takes ${wanted.length === 0 ? "no arguments" : wanted.map(({ name }) => `<${name}>`).join(" ")}. See: holdfast ${verb.path} --help`,
    );
}

function checkedValue({ name, value, choices }: VerbOption, given: string | undefined, inline: boolean): string {
  if (value === undefined) {
    if (inline) throw new UsageError(`--${name} takes no value.`);
    return "";
  }
  if (given === undefined || (!inline && /^-(?!\d|$)/.test(given)))
    throw new UsageError(`--${name} needs a value: --${name} <${value}>.`);
  if (choices && !choices.includes(given))
    throw new UsageError(`--${name} is "${given}"; it must be one of ${choices.join(", ")}.`);
  return given;
}

function unknownOption(given: string, verb: VerbShape | undefined, known: readonly VerbOption[]): UsageError {
  const near = nearest(
    given.replace(/^-+/, ""),
    known.map(({ name }) => name),
  );
  const hint = near === undefined ? "" : ` Did you mean --${near}?`;
  return new UsageError(`${given} is not an option of ${verb?.path ?? "holdfast"}.${hint} ${seeHelp(verb?.path)}`);
}

export function seeHelp(path: string | undefined): string {
  return `See: holdfast ${path === undefined || path === "" ? "" : `${path} `}--help`;
}
