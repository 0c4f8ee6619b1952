/**
 * Lines that may come in storms: ten thousand runs that fail for one reason are one piece of news. The first few lines of
 * each kind are written in full; the others are counted, and the count follows when the window closes. There is no timer:
 * the next line, or the next heartbeat, reports what was left out.
 */
import type { Clock } from "../ports/clock.ts";
import type { Logger } from "../ports/logger.ts";

const WINDOW_MS = 10_000;
const SHOWN_MAX = 5;
const KINDS_MAX = 1_000;

export interface RepeatedLine {
  readonly level: "warn" | "error";
  /** Lines of the same kind differ only in the run that they are about. */
  readonly kind: string;
  readonly fields: object;
  readonly message: string;
}

interface Window {
  readonly line: RepeatedLine;
  readonly since: number;
  shown: number;
  leftOut: number;
}

export class RepeatedLines {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #windows = new Map<string, Window>();

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock;
    this.#log = log;
  }

  write(line: RepeatedLine): void {
    const open = this.#windows.get(line.kind);
    if (open && this.#isOver(open)) this.#close(line.kind, open);
    else if (open) {
      if (open.shown >= SHOWN_MAX) {
        open.leftOut += 1;
        return;
      }
      open.shown += 1;
      this.#log[line.level](line.fields, line.message);
      return;
    }
    if (this.#windows.size >= KINDS_MAX) this.flush(true);
    this.#windows.set(line.kind, { line, since: this.#clock.monotonic(), shown: 1, leftOut: 0 });
    this.#log[line.level](line.fields, line.message);
  }

  /** Reports what was left out; for windows that are still open only on request. */
  flush(all = false): void {
    for (const [kind, window] of this.#windows) if (all || this.#isOver(window)) this.#close(kind, window);
  }

  #isOver({ since }: Window): boolean {
    return this.#clock.monotonic() - since >= WINDOW_MS;
  }

  #close(kind: string, { line, since, leftOut }: Window): void {
    this.#windows.delete(kind);
    if (leftOut === 0) return;
    const seconds = Math.max(1, Math.round((this.#clock.monotonic() - since) / 1_000));
    const more = `… and ${leftOut} more like this in the last ${seconds} s`;
    this.#log[line.level]({ more: leftOut, like: line.message }, more);
  }
}
