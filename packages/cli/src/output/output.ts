/** What the command prints: for people, or JSON lines for programs. */
import type { Io } from "../io/io.ts";
import { jsonLine } from "./json-line.ts";
import { type Paint, paintFor } from "./paint.ts";
import { type Column, tableLines } from "./table.ts";
import { padEnd, widthOf } from "./width.ts";

export class Output {
  readonly json: boolean;
  readonly paint: Paint;
  /** Colors of standard error. */
  readonly errorPaint: Paint;
  readonly #io: Io;
  /** Where lines for people go while a screen is drawn. */
  #drawn: string[] | undefined;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
    this.paint = paintFor(io, io.stdout);
    this.errorPaint = paintFor(io, io.stderr);
  }

  /** Whether people see what is printed as it is printed. */
  get isTerminal(): boolean {
    return !this.json && this.#io.stdout.isTTY === true;
  }

  /** Undefined where nothing is to be cut: in a file or a pipe. */
  get width(): number | undefined {
    const { isTTY, columns } = this.#io.stdout;
    return isTTY === true ? (columns ?? 80) : undefined;
  }

  /** A line for people. */
  line(text = ""): void {
    if (this.json) return;
    if (this.#drawn) this.#drawn.push(...text.split("\n"));
    else this.#io.stdout.write(`${text}\n`);
  }

  /** The lines for people that `draw` would have printed. */
  async drawn<T>(draw: () => Promise<T>): Promise<{ readonly lines: readonly string[]; readonly value: T }> {
    const lines: string[] = [];
    this.#drawn = lines;
    try {
      return { value: await draw(), lines };
    } finally {
      this.#drawn = undefined;
    }
  }

  /** A line for programs. */
  record(value: unknown): void {
    if (this.json) this.#io.stdout.write(`${jsonLine(value)}\n`);
  }

  /** Something beside the result, for people. */
  note(text: string): void {
    if (this.#drawn) this.line(text);
    else if (!this.json) this.#io.stderr.write(`${text}\n`);
  }

  /** What was done: a line for people, a record for programs. */
  done(text: string, record: unknown): void {
    this.line(`${this.paint.green("✓")} ${text}`);
    this.record(record);
  }

  /** One line for each row. */
  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): void {
    for (const row of rows) this.record(row);
    if (this.json) return;
    if (rows.length === 0) this.note(empty);
    else for (const line of tableLines(rows, columns, this.width, this.paint)) this.line(line);
  }

  /** Names and values, one below the other; what is empty is left out. */
  facts(facts: readonly (readonly [name: string, value: string | undefined | null])[], indent = ""): void {
    const shown = facts.filter(([, value]) => value !== undefined && value !== null && value !== "");
    const width = Math.max(0, ...shown.map(([name]) => widthOf(name)));
    for (const [name, value] of shown) {
      const [first = "", ...more] = (value as string).split("\n");
      this.line(`${indent}${this.paint.dim(padEnd(name, width))}  ${first}`);
      for (const line of more) this.line(`${indent}${" ".repeat(width)}  ${line}`);
    }
  }

  heading(text: string): void {
    this.line();
    this.line(this.paint.bold(text));
  }
}
