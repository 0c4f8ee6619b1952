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
let speaker = "main";
let json = false;

/** This is the process of a worker. */
export function speakAs(who: string): void {
  speaker = who;
}

/** One JSON object per line, for scripts. */
export function speakJson(): void {
  json = true;
}

export function tell(line: Line): void {
  const said = { who: speaker, ...line };
  if (process.send) process.send({ line: said });
  else show(said);
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
