// What happens, as lines. In the processes of workers they are sent to main.ts, which shows them.
import process from "node:process";

export interface Line {
  readonly text: string;
  /** The process that speaks; main.ts if none is named. */
  readonly who?: string;
  readonly order?: string;
  readonly task?: string;
  readonly attempt?: number;
  readonly mark?: "good" | "bad" | "note";
}

const SIGNS = { good: "✔", bad: "✖", note: "·" } as const;
const began = performance.now();
let json = false;
/** Nobody listens, as in a test. */
let say: (line: Line) => void = () => {};

/** This is the process of a worker. */
export function speakAs(who: string): void {
  say = (line) => process.send?.({ line: { who, ...line } });
}

/** This is main.ts. With `json`, every line is an object, for scripts. */
export function speakOnScreen(options: { readonly json: boolean }): void {
  json = options.json;
  say = (line) => show({ who: "main", ...line });
}

export function tell(line: Line): void {
  say(line);
}

export function show(line: Line): void {
  const ms = Math.round(performance.now() - began);
  if (json) return print(JSON.stringify({ type: "line", ms, ...line }));
  const { who = "", order = "", task, attempt = 1, text, mark = "good" } = line;
  const what = task === undefined ? "" : `${task}${attempt > 1 ? ` (attempt ${attempt})` : ""}: `;
  const time = `${(ms / 1000).toFixed(1).padStart(5)} s`;
  print(`${time}  ${who.padEnd(9)} ${SIGNS[mark]} ${order.padEnd(4)} ${what}${text}`);
}

/** For people only. */
export function prose(...lines: readonly string[]): void {
  if (!json) for (const line of lines) print(line);
}

export function summary(value: object): void {
  if (json) print(JSON.stringify({ type: "summary", ...value }));
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
