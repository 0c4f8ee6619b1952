// How the story looks: lines with a time and a speaker on a terminal, or one JSON object per line with --json.
import process from "node:process";
import type { EventView } from "holdfast";
import type { Line } from "./tell.ts";

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;
const WHO_COLORS: Readonly<Record<string, keyof typeof CODES>> = {
  client: "cyan",
  "worker A": "magenta",
  "worker B": "blue",
};
const MARKS = {
  good: ["✔", "green"],
  bad: ["✖", "red"],
  busy: ["…", "yellow"],
  note: ["·", "dim"],
} as const;

const VALUE_WIDTH = 60;

/** Who executed what: the proof that a recorded step is not executed again. */
export interface Summary {
  readonly executions: readonly { readonly order: string; readonly step: string; readonly by: readonly string[] }[];
  readonly outcomes: Readonly<Record<string, unknown>>;
}

export class Screen {
  readonly #json: boolean;
  readonly #color: boolean;
  readonly #began = performance.now();

  constructor(options: { readonly json: boolean }) {
    this.#json = options.json;
    // https://no-color.org: any value but the empty string.
    this.#color = !options.json && process.stdout.isTTY === true && !process.env["NO_COLOR"];
  }

  line(line: Line): void {
    const ms = Math.round(performance.now() - this.#began);
    if (this.#json) return this.#print(JSON.stringify({ type: "line", ms, ...line }));
    const { who = "", step, attempt, text, mark = "good" } = line;
    const [sign, color] = MARKS[mark];
    const time = this.#paint("dim", `${(ms / 1000).toFixed(1).padStart(5)} s`);
    const name = this.#paint(WHO_COLORS[who] ?? "bold", who.padEnd(9));
    const what = step === undefined ? "" : `${this.#paint("bold", step.padEnd(7))}`;
    const again = attempt === undefined || attempt === 1 ? "" : this.#paint("dim", ` (attempt ${attempt})`);
    this.#print(`${time}  ${name} ${this.#paint(color, sign)} ${what}${text}${again}`);
  }

  heading(text: string): void {
    if (!this.#json) this.#print(`\n${this.#paint("bold", text)}`);
  }

  /** For people only. */
  prose(...lines: readonly string[]): void {
    if (!this.#json) for (const line of lines) this.#print(this.#paint("dim", line));
  }

  history(order: string, events: readonly EventView[]): void {
    if (this.#json) return this.#print(JSON.stringify({ type: "history", order, events }));
    this.heading(`The history of ${order}: everything that was recorded, and all that a worker needs to continue`);
    const began = events[0]?.at.getTime() ?? 0;
    for (const event of events) {
      const at = `+${String(event.at.getTime() - began)} ms`.padStart(9);
      const about = [event.op ?? "", event.attempt === undefined ? "" : `attempt ${event.attempt}`, textOf(event)];
      const seq = String(event.seq).padStart(4);
      const details = about.filter((part) => part !== "").join("  ");
      this.#print(`${this.#paint("dim", `${seq}${at}`)}  ${event.type.padEnd(20)} ${details}`);
    }
  }

  summary(summary: Summary): void {
    if (this.#json) return this.#print(JSON.stringify({ type: "summary", ...summary }));
    this.heading("Who executed what");
    for (const { order, step, by } of summary.executions) {
      this.#print(`  ${order}  ${this.#paint("bold", step.padEnd(7))} ${by.join(", then ")}`);
    }
  }

  #print(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  #paint(color: keyof typeof CODES, text: string): string {
    return this.#color ? `\u001b[${CODES[color]}m${text}\u001b[0m` : text;
  }
}

function textOf(event: EventView): string {
  if (event.error) return event.error.message;
  const text = event.value === undefined ? "" : JSON.stringify(event.value);
  return text.length <= VALUE_WIDTH ? text : `${text.slice(0, VALUE_WIDTH - 1)}…`;
}
