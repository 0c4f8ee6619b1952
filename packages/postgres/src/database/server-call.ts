/**
 * A call to the server: a text, whose name the server keeps its plan under, and named values. A value is one line of a table:
 * its name in the text, and how to compute it from the call's subject. Only this file knows the positions of values.
 */
import { quoteName } from "./settings.ts";

/** The values of a call by name, each computed from the call's subject. */
export type Values<T> = Readonly<Record<string, (about: T) => unknown>>;

export interface ServerCall<T> {
  readonly name: string;
  /** With a number in place of each name; `at` is the schema. */
  readonly text: (at: string) => string;
  readonly values: (about: T) => unknown[];
  /** Safe to repeat whether or not it was executed. */
  readonly reads?: true;
  /** It takes many times as long as others: they go to other connections. */
  readonly long?: true;
}

/** A call to one of our functions; the names are those of its parameters. */
export function callOf<T>(name: string, values: Values<T>, columns = "*"): ServerCall<T> {
  const parameters = Object.keys(values).map((parameter, i) => `${parameter} => $${i + 1}`);
  const text = (at: string): string => `select ${columns} from ${at}.${name}(${parameters.join(", ")}) c`;
  return { name, text, values: makerOf(values) };
}

/**
 * Calls to two of our functions in one statement and one transaction, the first one first: a value of the second (`after`) waits for a
 * column of the first, which is never null.
 */
export function bothOf<T>(first: NamedCall<T>, column: string, second: NamedCall<T>, after: string): ServerCall<T> {
  const values = [...Object.values(first.values), ...Object.values(second.values)];
  const numbered = (call: NamedCall<T>, from: number): string[] =>
    Object.keys(call.values).map((parameter, i) => {
      const waits = call === second && parameter === after ? ` and a.${column} is not null` : "";
      return `${parameter} => $${from + i + 1}${waits}`;
    });
  const [one, two] = [numbered(first, 0), numbered(second, Object.keys(first.values).length)];
  const text = (at: string): string =>
    `select a.*, c.* from ${at}.${first.name}(${one.join(", ")}) a cross join lateral ${at}.${second.name}(${two.join(", ")}) c`;
  return { name: `${first.name}_and_${second.name}`, text, values: (about) => values.map((make) => make(about)) };
}

/** One of our functions, and its values by the names of its parameters. */
export interface NamedCall<T> {
  readonly name: string;
  readonly values: Values<T>;
}

export function readingCallOf<T>(name: string, values: Values<T>): ServerCall<T> {
  return { ...callOf(name, values), reads: true };
}

export function longCallOf<T>(name: string, values: Values<T>): ServerCall<T> {
  return { ...callOf(name, values), long: true };
}

/** A query that only reads; `$namespace` in its text stands for the value of that name. */
export function queryOf<T>(name: string, text: (at: string) => string, values: Values<T>): ServerCall<T> {
  const numbers = new Map(Object.keys(values).map((parameter, i) => [parameter, i + 1]));
  const numbered = (at: string): string =>
    text(at).replace(/\$([a-z_]+)/g, (_, parameter: string) => {
      const number = numbers.get(parameter);
      if (number === undefined) throw new Error(`${name}: there is no value "${parameter}"`);
      return `$${number}`;
    });
  return { name, text: numbered, values: makerOf(values), reads: true };
}

function makerOf<T>(values: Values<T>): (about: T) => unknown[] {
  const makers = Object.values(values);
  return (about) => makers.map((make) => make(about));
}

/** The text of a call for one schema. */
export function textFor<T>(call: ServerCall<T>, schema: string): string {
  return call.text(quoteName(schema));
}
