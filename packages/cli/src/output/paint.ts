/** Colors, only where they are wanted: on a terminal, unless NO_COLOR is set. */
import { createRequire } from "node:module";
import type { Colors } from "picocolors/types.js";
import type { Io, Sink } from "../io/io.ts";

export type Paint = Colors;

/** picocolors is a CommonJS module whose names Node does not see from here. */
const pico = createRequire(import.meta.url)("picocolors") as { createColors(enabled: boolean): Paint };

export function paintFor(io: Pick<Io, "env">, sink: Sink): Paint {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.env;
  const forced = FORCE_COLOR !== undefined && FORCE_COLOR !== "0" && FORCE_COLOR !== "";
  const wanted = forced || (sink.isTTY === true && TERM !== "dumb");
  return pico.createColors(wanted && (NO_COLOR === undefined || NO_COLOR === ""));
}

const STATUS_COLORS: Readonly<
  Record<string, keyof Pick<Paint, "green" | "red" | "yellow" | "magenta" | "cyan" | "blue" | "dim">>
> = {
  completed: "green",
  healthy: "green",
  online: "green",
  failed: "red",
  dead: "red",
  died: "red",
  timed_out: "red",
  terminated: "red",
  unhealthy: "red",
  canceled: "yellow",
  degraded: "yellow",
  draining: "yellow",
  retrying: "yellow",
  compensating: "yellow",
  parked: "magenta",
  paused: "magenta",
  running: "blue",
  held: "blue",
  pending: "cyan",
  waiting: "cyan",
  sleeping: "cyan",
  scheduled: "cyan",
  offline: "dim",
  continued: "dim",
  ended: "dim",
};

/** A status in its color: the word alone says it too. */
export function statusColor(paint: Paint, status: string, text = status): string {
  const color = STATUS_COLORS[status];
  return color === undefined ? text : paint[color](text);
}
