/** Something that is drawn again and again, in place on a terminal. */
import type { Call } from "../command/call.ts";
import { EXIT } from "../io/exit-code.ts";
import type { Io, Sink } from "../io/io.ts";
import { cutLine } from "./width.ts";

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const CLEAR_BELOW = "\u001b[J";
const CLEAR_LINE_END = "\u001b[K";

export class Screen {
  readonly #sink: Sink;
  #drawn = 0;

  constructor(io: Pick<Io, "stdout">) {
    this.#sink = io.stdout;
  }

  /** Replaces what was drawn before. What does not fit on the terminal is left out at the end. */
  draw(lines: readonly string[]): void {
    const { rows = 24, columns = 80 } = this.#sink;
    const shown = lines.length < rows ? lines : [...lines.slice(0, Math.max(1, rows - 2)), "…"];
    const up = this.#drawn === 0 ? HIDE_CURSOR : `\u001b[${this.#drawn}A\r`;
    // A line that is longer than the terminal would take several rows, and the next picture would begin too low.
    const text = shown.map((line) => `${cutLine(line, columns)}${CLEAR_LINE_END}\n`).join("");
    this.#sink.write(`${up}${text}${CLEAR_BELOW}`);
    this.#drawn = shown.length;
  }

  /** What is drawn stays. */
  end(): void {
    if (this.#drawn > 0) this.#sink.write(SHOW_CURSOR);
    this.#drawn = 0;
  }
}

/**
 * Shows it every `ms` until Ctrl-C, or until `show` returns an exit code. On a terminal in place, elsewhere one after the other.
 */
export async function redrawEvery(call: Call, ms: number, show: () => Promise<number | undefined>): Promise<number> {
  const { io, out } = call;
  const screen = new Screen(io);
  try {
    for (;;) {
      let code: number | undefined;
      if (out.isTerminal) {
        const { lines, value } = await out.drawn(show);
        screen.draw(lines);
        code = value;
      } else code = await show();
      if (typeof code === "number") return code;
      await io.wait(ms, io.interrupted);
      if (io.interrupted.aborted) return EXIT.interrupted;
    }
  } finally {
    screen.end();
  }
}
