/** One call of a verb: its values, where it prints, and the client it works on. */
import type { Client } from "holdfast";
import { loadCodec } from "../io/codec-file.ts";
import { EXIT } from "../io/exit-code.ts";
import { Interrupted, UsageError } from "../io/failure.ts";
import type { Core, Io } from "../io/io.ts";
import { type OpenOptions, openClient } from "../io/open.ts";
import { findTarget, type Target } from "../io/target.ts";
import { Output } from "../output/output.ts";
import type { Values } from "./parse.ts";
import type { VerbShape } from "./verb-shape.ts";

export class Call {
  readonly verb: VerbShape;
  readonly io: Io;
  readonly out: Output;
  readonly #values: Values;
  readonly #opened: Client[] = [];
  #triedDefault = false;

  constructor(verb: VerbShape, values: Values, io: Io) {
    this.verb = verb;
    this.#values = values;
    this.io = io;
    this.out = new Output(io, values.options.has("json"));
  }

  /** An argument that may be missing. */
  word(name: string): string | undefined {
    const index = (this.verb.arguments ?? []).findIndex((argument) => argument.name === name);
    return index < 0 ? undefined : this.#values.words[index];
  }

  /** An argument that the parser has required. */
  argument(name: string): string {
    const word = this.word(name);
    if (word === undefined) throw new UsageError(`<${name}> is missing. See: holdfast ${this.verb.path} --help`);
    return word;
  }

  /** The last argument with everything behind it. */
  words(name: string): readonly string[] {
    const index = (this.verb.arguments ?? []).findIndex((argument) => argument.name === name);
    return index < 0 ? [] : this.#values.words.slice(index);
  }

  text(name: string): string | undefined {
    return this.#values.options.get(name)?.[0];
  }

  texts(name: string): readonly string[] {
    return this.#values.options.get(name) ?? [];
  }

  required(name: string): string {
    const text = this.text(name);
    if (text === undefined) throw new UsageError(`--${name} is missing. See: holdfast ${this.verb.path} --help`);
    return text;
  }

  flag(name: string): boolean {
    return this.#values.options.has(name);
  }

  /** A whole number, at least `least`. */
  number(name: string, least = 1): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = Number(text);
    if (Number.isInteger(number) && number >= least) return number;
    throw new UsageError(`--${name} is "${text}"; it must be a whole number from ${least} up.`);
  }

  target(): Target {
    const [url, namespace, token, context] = ["url", "namespace", "token", "context"].map((name) => this.text(name));
    const target = findTarget({ url, namespace, token, context }, this.io);
    this.#triedDefault ||= target.from === "default";
    return target;
  }

  /** Whether nothing says which store or server is meant. */
  get triedDefault(): boolean {
    return this.#triedDefault;
  }

  /** The file that exports the codec of the payloads; undefined: they are JSON. */
  get codecFile(): string | undefined {
    return this.text("codec") ?? (this.io.env["HOLDFAST_CODEC"] || undefined);
  }

  core(): Promise<Core> {
    return this.io.core();
  }

  /** The client; closed when the verb has ended. */
  async open(options: OpenOptions = {}): Promise<Client> {
    return this.openAt(this.target(), options);
  }

  async openAt(target: Target, options: OpenOptions = {}): Promise<Client> {
    const codec = this.codecFile === undefined ? {} : { codec: await loadCodec(this.io, this.codecFile) };
    const client = await openClient(this.io, target, { ...codec, ...options });
    this.#opened.push(client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((client) => client.close()));
  }

  /** Waits for it, or for Ctrl-C. */
  async unlessInterrupted<T>(waiting: Promise<T>): Promise<T> {
    const { interrupted } = this.io;
    let stop = (): void => {};
    const broken = new Promise<never>((_, reject) => {
      stop = () => reject(new Interrupted());
      if (interrupted.aborted) stop();
      else interrupted.addEventListener("abort", stop);
    });
    try {
      return await Promise.race([waiting, broken]);
    } finally {
      interrupted.removeEventListener("abort", stop);
    }
  }

  /** Asks before something that cannot be undone. Without a terminal nobody can answer, and nothing is done. */
  async confirm(question: string): Promise<boolean> {
    if (this.flag("yes")) return true;
    const { stdin, stderr } = this.io;
    if (stdin.isTTY !== true || this.out.json)
      throw new UsageError(`${question} Nothing was changed: there is no terminal to ask on. Add --yes to do it.`);
    const { createInterface } = await import("node:readline/promises");
    const lines = createInterface({ input: stdin, output: stderr as NodeJS.WritableStream, terminal: true });
    try {
      const broken = new Promise<never>((_, reject) => lines.once("SIGINT", () => reject(new Interrupted())));
      const answer = await this.unlessInterrupted(
        Promise.race([lines.question(`${this.out.errorPaint.yellow("?")} ${question} (y/N) `), broken]),
      );
      return /^y(es)?$/i.test(answer.trim());
    } finally {
      lines.close();
    }
  }

  /** Says that nothing was done. */
  declined(): number {
    this.out.note("Nothing was changed.");
    return EXIT.done;
  }
}
