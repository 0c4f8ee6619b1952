/** Horizontal bars as an SVG that is readable on light and dark pages. */
import { figureText } from "./figure-text.ts";

export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly kind: string;
  readonly text?: string;
}

export interface ChartParams {
  readonly title: string;
  /** What the bars show, and whether longer or shorter is better. */
  readonly caption: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 760;
const LABELS = 230;
const VALUES = 90;
const ROW = 26;
const TOP = 56;
/** Beyond this factor the short bars would be indistinguishable. */
const LOG_FACTOR = 50;

const STYLE = `
    text { font: 13px system-ui, sans-serif; fill: #24292f; }
    .title { font-size: 15px; font-weight: 600; }
    .caption { fill: #57606a; font-size: 12px; }
    .own { fill: #0969da; } .limit { fill: #8c959f; } .engine { fill: #bf8700; } .queue { fill: #8250df; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .caption { fill: #9198a1; }
      .own { fill: #4493f8; } .limit { fill: #656c76; } .engine { fill: #d29922; } .queue { fill: #ab7df8; }
    }`;

export function barChart({ title, caption, bars }: ChartParams): string {
  const values = bars.map(({ value }) => value).filter((value) => value > 0);
  const [most, least] = [Math.max(...values), Math.min(...values)];
  const logarithmic = most / least > LOG_FACTOR;
  const room = WIDTH - LABELS - VALUES;
  const floor = 10 ** Math.floor(Math.log10(least));
  const length = (value: number): number => {
    if (value <= 0) return 0;
    const share = logarithmic ? Math.log(value / floor) / Math.log(most / floor) : value / most;
    return Math.max(2, Math.round(share * room));
  };
  const rows = bars.map(({ label, value, kind, text }, i) => {
    const y = TOP + i * ROW;
    const end = LABELS + length(value);
    return [
      `  <text x="${LABELS - 10}" y="${y + 14}" text-anchor="end">${escaped(label)}</text>`,
      `  <rect class="${kind}" x="${LABELS}" y="${y}" width="${length(value)}" height="${ROW - 7}" rx="2"/>`,
      `  <text x="${end + 6}" y="${y + 14}">${escaped(text ?? figureText(value))}</text>`,
    ].join("\n");
  });
  const height = TOP + bars.length * ROW + 8;
  const scale = logarithmic ? `${caption}; logarithmic scale` : caption;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `  <title>${escaped(title)}</title>`,
    `  <style>${STYLE}\n  </style>`,
    `  <text class="title" x="10" y="20">${escaped(title)}</text>`,
    `  <text class="caption" x="10" y="38">${escaped(scale)}</text>`,
    ...rows,
    "</svg>",
    "",
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
