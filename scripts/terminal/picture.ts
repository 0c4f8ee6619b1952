// A terminal as a picture: reads what programs have written, with colors and movements of the cursor, and draws it as SVG.

const LETTER_WIDTH = 8.4;
const LINE_HEIGHT = 19;
const PADDING = 16;
const BAR_HEIGHT = 30;

/** The colors that programs choose by number. */
const COLORS: Readonly<Record<number, string>> = {
  31: "#f7768e",
  32: "#9ece6a",
  33: "#e0af68",
  34: "#7aa2f7",
  35: "#bb9af7",
  36: "#7dcfff",
};

interface Style {
  readonly color?: string;
  readonly bold?: true;
  readonly dim?: true;
}

interface Cell {
  readonly letter: string;
  readonly style: Style;
}

export interface Line {
  readonly cells: readonly Cell[];
  /** When it appears, in seconds. */
  readonly at: number;
}

/** A screen without an end: what is written, line by line, after all movements of the cursor. */
export class TerminalScreen {
  readonly #lines: { cells: Cell[]; at: number }[] = [{ cells: [], at: 0 }];
  #row = 0;
  #column = 0;
  #style: Style = {};

  get lines(): readonly Line[] {
    return this.#lines;
  }

  write(text: string, at: number): void {
    for (const [part] of text.matchAll(/\u001b\[[?\d;]*[A-Za-z]|[\s\S]/gu)) {
      if (part.startsWith("\u001b[")) this.#control(part);
      else this.#letter(part, at);
    }
  }

  #letter(letter: string, at: number): void {
    if (letter === "\r") this.#column = 0;
    else if (letter === "\n") {
      this.#row += 1;
      this.#column = 0;
      this.#lines[this.#row] ??= { cells: [], at };
    } else {
      const line = this.#lines[this.#row] as { cells: Cell[]; at: number };
      if (line.cells.length === 0) line.at = at;
      line.cells[this.#column] = { letter, style: this.#style };
      this.#column += 1;
    }
  }

  #control(sequence: string): void {
    const kind = sequence.at(-1);
    const [number = 0] = sequence.slice(2, -1).split(";").map(Number);
    if (kind === "A") this.#row = Math.max(0, this.#row - number);
    if (kind === "K") this.#lines[this.#row]?.cells.splice(this.#column);
    if (kind === "J") {
      this.#lines[this.#row]?.cells.splice(this.#column);
      this.#lines.splice(this.#row + 1);
    }
    if (kind === "m") this.#style = styled(this.#style, number);
  }
}

function styled(style: Style, number: number): Style {
  if (number === 0) return {};
  if (number === 1) return { ...style, bold: true };
  if (number === 2) return { ...style, dim: true };
  if (number === 22) return style.color === undefined ? {} : { color: style.color };
  const { color: _color, ...rest } = style;
  const color = COLORS[number];
  return color === undefined ? rest : { ...rest, color };
}

/** The picture: lines appear one after the other; where nothing is animated, all are there. */
export function pictureOf(lines: readonly Line[], title: string): string {
  const columns = Math.max(...lines.map(({ cells }) => cells.length));
  const width = Math.ceil(columns * LETTER_WIDTH + 2 * PADDING);
  const height = BAR_HEIGHT + lines.length * LINE_HEIGHT + PADDING;
  const rows = lines.map(({ cells, at }, index) => {
    const y = BAR_HEIGHT + (index + 1) * LINE_HEIGHT - 5;
    return `<text x="${PADDING}" y="${y}" style="animation-delay:${at.toFixed(1)}s">${runsOf(cells)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    "<style>",
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#c0caf5;white-space:pre;animation:appear .2s backwards}",
    "@keyframes appear{from{opacity:0}}@media (prefers-reduced-motion:reduce){text{animation:none}}",
    "</style>",
    `<rect width="${width}" height="${height}" rx="8" fill="#1a1b26"/>`,
    ...["#f7768e", "#e0af68", "#9ece6a"].map(
      (color, index) => `<circle cx="${18 + index * 18}" cy="16" r="5" fill="${color}"/>`,
    ),
    ...rows,
    "</svg>",
    "",
  ].join("\n");
}

/** Letters of the same style are one piece. */
function runsOf(cells: readonly Cell[]): string {
  const runs: { style: Style; text: string }[] = [];
  for (const { letter, style } of Array.from(cells, (cell) => cell ?? { letter: " ", style: {} })) {
    const last = runs.at(-1);
    if (last && JSON.stringify(last.style) === JSON.stringify(style)) last.text += letter;
    else runs.push({ style, text: letter });
  }
  return runs
    .map(({ style, text }) => {
      const attributes = [
        style.color === undefined ? "" : ` fill="${style.color}"`,
        style.bold ? ' font-weight="bold"' : "",
        style.dim ? ' opacity="0.6"' : "",
      ].join("");
      return attributes === "" ? escaped(text) : `<tspan${attributes}>${escaped(text)}</tspan>`;
    })
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
