/** A bar on a terminal, on standard error; nothing elsewhere. */
import type { Io } from "../io/io.ts";
import type { Output } from "./output.ts";

const WIDTH = 30;

export class ProgressBar {
  readonly #io: Io;
  readonly #out: Output;
  readonly #total: number;
  #shown = false;

  constructor(io: Io, out: Output, total: number) {
    this.#io = io;
    this.#out = out;
    this.#total = total;
    this.show(0);
  }

  show(done: number, text = ""): void {
    if (this.#io.stderr.isTTY !== true || this.#out.json || this.#total === 0) return;
    const share = Math.min(1, done / this.#total);
    const full = Math.round(share * WIDTH);
    const { green, dim } = this.#out.errorPaint;
    const bar = `${green("█".repeat(full))}${dim("░".repeat(WIDTH - full))}`;
    this.#io.stderr.write(`\r${bar} ${Math.round(share * 100)} % ${dim(`${done} of ${this.#total}`)} ${text}\u001b[K`);
    this.#shown = true;
  }

  clear(): void {
    if (this.#shown) this.#io.stderr.write("\r\u001b[K");
    this.#shown = false;
  }
}
