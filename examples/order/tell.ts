// What happens, as lines: services and workers write them, the screen of main.ts shows them. In the process of worker A
// they are sent to main.ts first.
import type { Logger } from "holdfast";

export interface Line {
  readonly text: string;
  /** The speaker: "client", "worker A", "worker B". */
  readonly who?: string;
  readonly order?: string;
  readonly step?: string;
  readonly attempt?: number;
  readonly mark?: "good" | "bad" | "busy" | "note";
}

let listener: (line: Line) => void = () => {};
let speaker = "client";

/** From now on lines go there, and those without a speaker get this one. */
export function listen(who: string, onLine: (line: Line) => void): void {
  speaker = who;
  listener = onLine;
}

export function tell(line: Line): void {
  listener({ who: speaker, ...line });
}

/** Warnings of the engine and what `ctx.log` writes, as lines; `ctx.log` is silent during replay. */
export const tellingLogger: Logger = {
  debug() {},
  info: (fields, text) => {
    if ("runId" in fields) tell({ text, mark: "note" });
  },
  warn: (fields, message) => tell({ text: message + detailsOf(fields), mark: "note" }),
  error: (fields, message) => tell({ text: message + detailsOf(fields), mark: "bad" }),
};

/** Zeros are omitted: the engine counts more than needs to be shown. The run is known from the context. */
function detailsOf(fields: object): string {
  if ("runId" in fields) return "";
  const details = Object.entries(fields).filter(([, value]) => value !== 0);
  return details.length === 0 ? "" : ` (${details.map(([key, value]) => `${key}: ${value}`).join(", ")})`;
}
