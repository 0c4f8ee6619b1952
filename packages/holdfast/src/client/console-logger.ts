/**
 * The default logger: one line per message, from level info up, to standard error. Standard output belongs to the
 * program. In a terminal, lines begin with the time of day and have colors; elsewhere, in a file or a container's log,
 * they begin with date and time.
 */
import { Console } from "node:console";
import { inspect } from "node:util";
import { DEFAULT_NAMESPACE } from "../define/definitions.ts";
import type { Logger } from "../ports/logger.ts";
import { systemClock } from "../system/clock.ts";

type Shown = "info" | "warn" | "error";

const COLORS: Readonly<Record<Shown, number>> = { info: 36, warn: 33, error: 31 };
const DIM = 2;
const LEVEL_WIDTH = 5;

export interface LineStyle {
  readonly terminal: boolean;
  readonly colors: boolean;
}

export const consoleLogger: Logger = {
  debug() {},
  info: (fields, message) => write("info", fields, message),
  warn: (fields, message) => write("warn", fields, message),
  error: (fields, message) => write("error", fields, message),
};

/** A broken pipe must not end the process: this console ignores errors, as the global one does. */
let output: Console | undefined;

function write(level: Shown, fields: object, message: string): void {
  const { stderr, env } = process;
  output ??= new Console({ stdout: stderr, ignoreErrors: true });
  const terminal = stderr.isTTY === true;
  const style = { terminal, colors: terminal && !env["NO_COLOR"] };
  output.log("%s", logLine(level, fields, message, systemClock.now(), style));
}

export function logLine(level: Shown, fields: object, message: string, now: number, style: LineStyle): string {
  const paint = (text: string, color: number): string => (style.colors ? `\u001b[${color}m${text}\u001b[0m` : text);
  const time = style.terminal ? timeOfDay(now) : new Date(now).toISOString();
  const details = shownFields(fields).map(([key, value]) => `${key}=${valueText(value)}`);
  const parts = [paint(time, DIM), paint(level.padEnd(LEVEL_WIDTH), COLORS[level]), message];
  if (details.length > 0) parts.push(paint(details.join(" "), DIM));
  return parts.join(" ");
}

function timeOfDay(now: number): string {
  const date = new Date(now);
  const pad = (part: number, width = 2): string => String(part).padStart(width, "0");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => pad(part)).join(":");
  return `${time}.${pad(date.getMilliseconds(), 3)}`;
}

/** Omits what does not help a person: the run id if the line has an id, and the default namespace. */
function shownFields(fields: object): [string, unknown][] {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  const hasId = entries.some(([key]) => key === "id");
  return entries.filter(
    ([key, value]) => !(key === "runId" && hasId) && !(key === "namespace" && value === DEFAULT_NAMESPACE),
  );
}

function valueText(value: unknown): string {
  if (typeof value === "string") return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return valueText(value.join(","));
  if (value instanceof Error) return value.stack ?? String(value);
  return inspect(value, { breakLength: Number.POSITIVE_INFINITY, depth: 4 });
}
