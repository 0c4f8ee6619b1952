import type { Shown, Workload } from "../lab/workload.ts";
import { figureText, ratioText } from "./figure-text.ts";
import type { Verdict } from "./goals.ts";
import type { Medians } from "./medians.ts";
import type { Results } from "./results.ts";

const OURS = "holdfast-postgres";
const OURS_SQLITE = "holdfast-sqlite";

export type Table = readonly (readonly string[])[];

export function workloadTable(workload: Workload, results: Results, medians: Medians): Table {
  const engines = Object.keys(results.engines).filter((engine) =>
    results.measurements.some((one) => one.workload === workload.name && one.engine === engine),
  );
  const shown = workload.shown.filter(({ figure }) =>
    engines.some((engine) => medians.value(workload.name, engine, figure) !== undefined),
  );
  const main = shown[0];
  const compared = main && engines.some((engine) => isPeer(results, engine));
  const header = ["", ...shown.map(({ title }) => title), ...(compared ? ["Holdfast over it"] : [])];
  const rows = engines.map((engine) => [
    results.engines[engine]?.title ?? engine,
    ...shown.map(({ figure, digits }) => figureText(medians.value(workload.name, engine, figure), digits)),
    ...(compared ? [isPeer(results, engine) ? ratioText(advantage(workload, main, engine, medians)) : ""] : []),
  ]);
  return [header, ...rows];
}

/** How many times better we are, on the same kind of store. */
function advantage(
  workload: Workload,
  { figure, better }: Shown,
  engine: string,
  medians: Medians,
): number | undefined {
  const ours = engine.endsWith("-sqlite") ? OURS_SQLITE : OURS;
  return better === "higher"
    ? medians.ratio(workload.name, figure, ours, engine)
    : medians.ratio(workload.name, figure, engine, ours);
}

function isPeer({ engines }: Results, engine: string): boolean {
  return engines[engine]?.kind === "engine" || engines[engine]?.kind === "queue";
}

/**
 * Every figure of an engine beside that of the same engine at another commit: the median of the ratios within each
 * round.
 */
export function againstTable(workloads: readonly Workload[], { engines }: Results, medians: Medians): Table {
  const pairs = Object.keys(engines).flatMap((before) => {
    const now = before.replace(/@.*/, "");
    return now === before ? [] : [{ now, before }];
  });
  const rows = workloads.flatMap(({ name, shown }) =>
    pairs.flatMap(({ now, before }) =>
      shown.flatMap(({ figure, title, digits, better }) => {
        const ratio = medians.ratio(name, figure, now, before);
        if (ratio === undefined) return [];
        const [ours, theirs] = [now, before].map((engine) => figureText(medians.value(name, engine, figure), digits));
        return [[`${name}, ${engines[now]?.title}: ${title}`, ours ?? "", theirs ?? "", ratio.toFixed(3), better]];
      }),
    ),
  );
  return [["", "now", "earlier", "ratio", "better"], ...rows];
}

export function goalTable(verdicts: readonly Verdict[]): Table {
  const rows = verdicts.map(({ text, target, figure, unit, met }) => [
    text,
    `${target} ${unit}`.trim(),
    figure === undefined ? "not measured" : ratioText(figure),
    met === undefined ? "" : met ? "yes" : "no",
  ]);
  return [["goal", "target", "figure", "met"], ...rows];
}

export function markdownTable([header = [], ...rows]: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = header.map((_, column) => (column === 0 ? "---" : "---:"));
  return [line(header), line(rule), ...rows.map(line)].join("\n");
}

/** For the terminal. */
export function plainTable(table: Table): string {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number): string =>
    column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return table.map((row) => row.map(cell).join("  ").trimEnd()).join("\n");
}
