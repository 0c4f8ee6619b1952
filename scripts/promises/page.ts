// docs/PROMISES.md as data: its sections, the rows of their tables, and their totals.

export const STATES = ["done", "partly", "not yet"] as const;

/** The cells of a row; rows of decisions have no document. */
export interface PromiseRow {
  readonly item: string;
  readonly feature: string;
  readonly promise: string;
  readonly document: string | undefined;
  readonly state: string;
  readonly note: string;
  readonly tests: readonly NamedTest[];
}

export interface NamedTest {
  readonly title: string;
  /** Relative to the repository root. */
  readonly file: string;
}

const PROMISE_CELLS = 6;
const DECISION_CELLS = 5;
const TEST_LINK = /\[((?:\\.|[^\]\\])+)\]\(\.\.\/([^)\s]+)\)/g;

export function readRows(page: string): PromiseRow[] {
  const rows: PromiseRow[] = [];
  let feature = "";
  for (const line of page.split("\n")) {
    if (line.startsWith("## ")) feature = line.slice(3);
    if (/^\| [A-Z0-9]+-\d+ \|/.test(line)) rows.push(readRow(feature, line));
  }
  return rows;
}

function readRow(feature: string, line: string): PromiseRow {
  const cells = line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
  const [item = "", promise = ""] = cells;
  if (cells.length !== PROMISE_CELLS && cells.length !== DECISION_CELLS)
    throw new Error(
      `${item}: a row has ${PROMISE_CELLS} cells, that of a decision ${DECISION_CELLS}; it has ${cells.length}`,
    );
  const document = cells.length === PROMISE_CELLS ? cells[2] : undefined;
  const [state = "", note = "", shownBy = ""] = cells.slice(-3);
  return { item, feature, promise, document, state, note, tests: readTests(item, shownBy) };
}

function readTests(item: string, cell: string): NamedTest[] {
  const tests = [...cell.matchAll(TEST_LINK)].map(([, title = "", file = ""]) => ({
    title: unescapeText(title),
    file,
  }));
  const written = tests.map(({ title, file }) => testLink(title, file)).join("<br>");
  if (written !== cell) throw new Error(`${item}: tests are links, separated by <br>: ${cell}`);
  return tests;
}

/** A test as shown on the page: its title, linked to its file. */
export function testLink(title: string, file: string): string {
  return `[${title.replace(/[[\]<>|*\\`]/g, "\\$&")}](../${file})`;
}

function unescapeText(text: string): string {
  return text.replace(/\\(.)/g, "$1");
}

/** The lines of the page that count the promises, by document and by feature. */
export function countLines(rows: readonly PromiseRow[], documents: readonly string[]): string[] {
  const features = [...new Set(rows.map(({ feature }) => feature))];
  return [
    ...documents.map((title) => `| ${title} | … | ${countCells(rows.filter(({ document }) => document === title))} |`),
    `| **all five** | … | ${countCells(rows, "**")} |`,
    ...features.map((name) => `| [${name}](#…) | ${countCells(rows.filter(({ feature }) => feature === name))} |`),
    `| **all** | ${countCells(rows, "**")} |`,
  ];
}

/** Those lines as written on the page, without the parts that are not counts: descriptions and anchors. */
export function writtenCounts(page: string): string[] {
  return page
    .split("\n")
    .filter((line) => /\| \**\d+\** \|$/.test(line))
    .map((line) =>
      line.replace(/\(#[^)]*\)/, "(#…)").replace(/^(\| [^|]+ \|) [^|]*\|((?: \**\d+\** \|){4})$/, "$1 … |$2"),
    );
}

function countCells(rows: readonly PromiseRow[], mark = ""): string {
  const counts = [rows.length, ...STATES.map((state) => rows.filter((row) => row.state === state).length)];
  return counts.map((count) => `${mark}${count}${mark}`).join(" | ");
}
