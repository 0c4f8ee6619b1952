// A picture whose bands are computed by tasks. Computing takes the whole thread, for about a tenth of a second each.
import process from "node:process";
import { task, workflow } from "holdfast";

export const WIDTH = 76;
export const HEIGHT = 24;
const BANDS = 8;
const SHADES = " .:-=+*#%@";
/** As much work as it takes to see that another thread does it. */
const ITERATIONS_MAX = 20_000;

interface Band {
  readonly rows: readonly string[];
  /** The process that has computed it. */
  readonly pid: number;
}

export const renderBand = task(
  { name: "render-band", queue: "heavy", timeout: "1m" },
  async (input: { from: number; to: number }): Promise<Band> => {
    const rows = Array.from({ length: input.to - input.from }, (_, row) => renderRow(input.from + row));
    return { rows, pid: process.pid };
  },
);

/** All bands are scheduled at once; however many workers there are take them. */
export const picture = workflow("picture", async (ctx) => {
  const height = HEIGHT / BANDS;
  const bands = await Promise.all(
    Array.from({ length: BANDS }, (_, band) => ctx.task(renderBand, { from: band * height, to: (band + 1) * height })),
  );
  return bands;
});

function renderRow(row: number): string {
  const im = (row / (HEIGHT - 1)) * 2.4 - 1.2;
  return Array.from({ length: WIDTH }, (_, column) => shadeOf((column / (WIDTH - 1)) * 3.2 - 2.2, im)).join("");
}

function shadeOf(re: number, im: number): string {
  let [x, y, n] = [0, 0, 0];
  for (; n < ITERATIONS_MAX && x * x + y * y <= 4; n++) [x, y] = [x * x - y * y + re, 2 * x * y + im];
  if (n === ITERATIONS_MAX) return SHADES.at(-1) as string;
  return SHADES.charAt(Math.min(SHADES.length - 2, Math.floor(Math.log2(n + 1) * 1.3)));
}
