/** The log lines of a worker: short for people, JSON for programs; on standard error, because standard output has results. */
import type { Logger } from "holdfast";
import type { Io } from "../io/io.ts";
import { jsonLine } from "./json-line.ts";
import type { Output } from "./output.ts";
import { oneLine } from "./width.ts";

/** What people do not need to see with every line. */
const HIDDEN = ["namespace", "runId", "workerId", "workflow", "version", "id", "op", "attempt"];

/** `own`: without what the worker says of itself when it starts and ends. */
export function workerLogger(io: Io, out: Output, { own = false } = {}): Logger {
  const write = (level: "info" | "warn" | "error", fields: object, message: string): void => {
    if (own && level === "info" && "worker" in fields) return;
    const now = io.now();
    if (out.json) io.stderr.write(`${jsonLine({ time: new Date(now).toISOString(), level, message, ...fields })}\n`);
    else io.stderr.write(`${line(level, fields as Record<string, unknown>, message, now)}\n`);
  };
  const line = (level: string, fields: Record<string, unknown>, message: string, now: number): string => {
    const { dim, red, yellow, cyan } = out.errorPaint;
    const { id, op, attempt } = fields;
    const about = [id, op, typeof attempt === "number" && attempt > 1 ? `×${attempt}` : undefined]
      .filter((part) => part !== undefined && part !== null)
      .join(" ");
    const rest = Object.entries(fields)
      .filter(([key, value]) => !HIDDEN.includes(key) && value !== undefined)
      .map(([key, value]) => `${key}=${typeof value === "string" ? value : jsonLine(value)}`)
      .join(" ");
    const mark = level === "error" ? red("✗") : level === "warn" ? yellow("!") : dim("·");
    const time = new Date(now).toTimeString().slice(0, 8);
    return [
      dim(time),
      mark,
      ...(about === "" ? [] : [cyan(oneLine(about))]),
      oneLine(message),
      ...(rest === "" ? [] : [dim(oneLine(rest))]),
    ].join(" ");
  };
  return {
    debug() {},
    info: (fields, message) => write("info", fields, message),
    warn: (fields, message) => write("warn", fields, message),
    error: (fields, message) => write("error", fields, message),
  };
}
