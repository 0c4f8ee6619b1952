// Renders the Helm chart as `helm template` does, for tests on machines without helm: the part of its language that our templates
// use. What is not known is refused.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse, stringify } from "yaml";
import { type Part, readParts } from "./template-parts.ts";

export type Value = string | number | boolean | null | undefined | readonly Value[] | { readonly [key: string]: Value };
type Values = { readonly [key: string]: Value };

interface Scope {
  readonly dot: Value;
  readonly variables: Map<string, Value>;
}

/** The rendered files, by name. */
export function renderChart(folder: string, overrides: Values = {}): Map<string, string> {
  const chart = parse(readFileSync(path.join(folder, "Chart.yaml"), "utf8"));
  const values = merged(parse(readFileSync(path.join(folder, "values.yaml"), "utf8")), overrides);
  const root: Values = {
    Values: values,
    Chart: { Name: chart.name, Version: chart.version, AppVersion: chart.appVersion },
    Release: { Name: "release", Namespace: "default", Service: "Helm" },
  };
  const names = readdirSync(path.join(folder, "templates")).sort();
  const files = names.map((name): [string, Part[]] => [
    name,
    readParts(readFileSync(path.join(folder, "templates", name), "utf8")),
  ]);
  const renderer = new Renderer(files.flatMap(([, parts]) => parts));
  const rendered = files
    .filter(([name]) => !name.startsWith("_"))
    .map(([name, parts]): [string, string] => [name, renderer.render(parts, newScope(root))]);
  return new Map(rendered);
}

class Renderer {
  readonly #defined = new Map<string, readonly Part[]>();

  constructor(parts: readonly Part[]) {
    for (const part of parts) if (part.kind === "define") this.#defined.set(part.name, part.body);
  }

  render(parts: readonly Part[], scope: Scope): string {
    let text = "";
    for (const part of parts) {
      if (part.kind === "text") text += part.text;
      else if (part.kind === "value") text += shown(this.#pipeline(part.words, scope));
      else if (part.kind === "set") scope.variables.set(part.name, this.#pipeline(part.words, scope));
      else if (part.kind !== "define") text += this.#block(part, scope);
    }
    return text;
  }

  #block(part: Extract<Part, { readonly otherwise: unknown }>, scope: Scope): string {
    const value = this.#pipeline(part.words, scope);
    const within = (dot: Value): string => this.render(part.body, { dot, variables: new Map(scope.variables) });
    if (!isTrue(value)) return this.render(part.otherwise, scope);
    if (part.kind === "if") return within(scope.dot);
    if (part.kind === "with") return within(value);
    return (value as readonly Value[]).map(within).join("");
  }

  /** Stages, each of which gets what the one before has made as its last argument. */
  #pipeline(words: readonly string[], scope: Scope): Value {
    let value: Value;
    let first = true;
    for (const stage of stagesOf(words)) {
      const args = stage.map((word) => (typeof word === "string" ? word : { nested: word }));
      value = this.#stage(args, first ? [] : [value], scope);
      first = false;
    }
    return value;
  }

  #stage(
    words: readonly (string | { readonly nested: readonly string[] })[],
    last: readonly Value[],
    scope: Scope,
  ): Value {
    const [head, ...rest] = words;
    const read = (word: (typeof words)[number]): Value =>
      typeof word === "string" ? this.#operand(word, scope) : this.#pipeline(word.nested, scope);
    const call = typeof head === "string" ? FUNCTIONS[head] : undefined;
    if (head === "include") {
      const [name, dot] = [...rest.map(read), ...last];
      const body = this.#defined.get(String(name));
      if (body === undefined) throw new Error(`there is no template ${String(name)}`);
      return this.render(body, newScope(dot));
    }
    if (call) return call(...rest.map(read), ...last);
    if (head === undefined || rest.length > 0 || last.length > 0) throw new Error(`not understood: ${words.join(" ")}`);
    return read(head);
  }

  #operand(word: string, { dot, variables }: Scope): Value {
    if (word.startsWith('"')) return JSON.parse(word) as string;
    if (/^-?\d+$/.test(word)) return Number(word);
    if (word === ".") return dot;
    const [, variable, fields = ""] = /^(\$\w*)?((?:\.\w+)*)$/.exec(word) ?? [];
    if (variable === undefined && fields === "") throw new Error(`not understood: ${word}`);
    const start = variable === undefined ? dot : variables.get(variable);
    return fields
      .split(".")
      .slice(1)
      .reduce<Value>((value, field) => (value as Values | undefined)?.[field], start);
  }
}

const FUNCTIONS: Readonly<Record<string, (...args: Value[]) => Value>> = {
  eq: (a, b) => a === b,
  gt: (a, b) => Number(a) > Number(b),
  not: (a) => !isTrue(a),
  and: (...args) => args.find((one) => !isTrue(one)) ?? args.at(-1),
  int: (a) => Math.trunc(Number(a)),
  has: (item, list) => (list as readonly Value[]).includes(item),
  hasKey: (map, key) => Object.hasOwn(map as Values, String(key)),
  quote: (a) => JSON.stringify(shown(a)),
  default: (fallback, value) => (isTrue(value) ? value : fallback),
  printf: (format, ...args) => args.reduce<string>((text, arg) => text.replace("%s", () => shown(arg)), String(format)),
  toYaml: (value) => stringify(value, { lineWidth: 0 }).trimEnd(),
  nindent: (spaces, text) =>
    `\n${shown(text)
      .split("\n")
      .map((line) => " ".repeat(Number(spaces)) + line)
      .join("\n")}`,
  required: (message, value) => {
    if (value === undefined || value === null || value === "") throw new Error(String(message));
    return value;
  },
  fail: (message) => {
    throw new Error(String(message));
  },
};

type Word = string | readonly string[];

/** What is between the bars; what is in parentheses is one word. */
function stagesOf(words: readonly string[]): Word[][] {
  const stages: Word[][] = [[]];
  let nested: string[] = [];
  let depth = 0;
  for (const word of words) {
    if (word === ")") depth -= 1;
    if (word === ")" && depth === 0) {
      stages.at(-1)?.push(nested);
      nested = [];
    } else if (depth > 0) nested.push(word);
    else if (word === "|") stages.push([]);
    else if (word !== "(") stages.at(-1)?.push(word);
    if (word === "(") depth += 1;
  }
  return stages;
}

function newScope(dot: Value): Scope {
  return { dot, variables: new Map([["$", dot]]) };
}

function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function shown(value: Value): string {
  return value === undefined || value === null ? "" : String(value);
}

function merged(base: Values, over: Values): Values {
  const result: Record<string, Value> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const old = result[key];
    const both = isMap(old) && isMap(value);
    result[key] = both ? merged(old, value) : value;
  }
  return result;
}

function isMap(value: Value): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
