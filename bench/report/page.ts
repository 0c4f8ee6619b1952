/** Writes the generated parts of docs/PERFORMANCE.md and its charts, from the results alone. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Shown, Workload } from "../lab/workload.ts";
import { WORKLOADS } from "../workloads/workloads.ts";
import { type Bar, barChart } from "./chart.ts";
import { figureText } from "./figure-text.ts";
import { verdicts } from "./goals.ts";
import { Medians } from "./medians.ts";
import type { Results } from "./results.ts";
import { goalTable, markdownTable, type Table, workloadTable } from "./table.ts";

const DOCS = fileURLToPath(new URL("../../docs", import.meta.url));

export function writePage(results: Results): void {
  const file = path.join(DOCS, "PERFORMANCE.md");
  writeFileSync(file, fillIn(readFileSync(file, "utf8"), generatedParts(results)));
  const charts = path.join(DOCS, "charts");
  rmSync(charts, { recursive: true, force: true });
  mkdirSync(charts);
  for (const [name, svg] of chartsOf(results)) writeFileSync(path.join(charts, `${name}.svg`), svg);
}

/** Replaces the text between `<!-- begin x -->` and `<!-- end x -->`; everything else is written by hand. */
export function fillIn(page: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`docs/PERFORMANCE.md has no place for "${name}" (${begin} … ${end})`);
    return `${text.slice(0, from + begin.length)}\n\n${part}\n\n${text.slice(to)}`;
  }, page);
}

export function generatedParts(results: Results): Record<string, string> {
  const medians = new Medians(results.measurements);
  return {
    machine: markdownTable(machineTable(results)),
    goals: [...trialNote(results), markdownTable(goalTable(verdicts(results, medians)))].join("\n\n"),
    workloads: measuredWorkloads(results)
      .map((workload) => workloadPart(workload, results, medians))
      .join("\n\n"),
    settings: markdownTable(settingsTable(results)),
  };
}

/** Figures of a small or hasty run must not pass for a measurement. */
function trialNote({ size, measurements }: Results): string[] {
  const repetitions = repetitionsOf(measurements);
  if (size !== "tiny" && repetitions >= 3) return [];
  return [
    `**A trial at size ${size}, repeated ${repetitions} times: the goals ask for size normal and three repetitions.**`,
  ];
}

function repetitionsOf(measurements: Results["measurements"]): number {
  return Math.max(...measurements.map(({ round }) => round));
}

export function chartsOf(results: Results): Map<string, string> {
  const medians = new Medians(results.measurements);
  const charts = measuredWorkloads(results).flatMap((workload): [string, string][] => {
    const shown = workload.shown.filter(({ chart }) => chart);
    const bars = Object.keys(results.engines).flatMap((engine) =>
      shown.flatMap((one) => barOf(workload.name, engine, one, shown.length > 1, results, medians)),
    );
    const [first] = shown;
    if (!first || bars.length < 2) return [];
    const what = shown.length > 1 ? first.title.replace(/,.*/, "") : first.title;
    const caption = `${what}, ${first.better === "higher" ? "longer" : "shorter"} is better`;
    return [[workload.name, barChart({ title: workload.title, caption, bars })]];
  });
  return new Map(charts);
}

function barOf(
  workload: string,
  engine: string,
  { figure, title, digits }: Shown,
  several: boolean,
  { engines }: Results,
  medians: Medians,
): Bar[] {
  const value = medians.value(workload, engine, figure);
  const described = engines[engine];
  if (value === undefined || !described) return [];
  const label = several ? `${described.title}, ${title.replace(/^.*?, /, "")}` : described.title;
  return [{ label, value, kind: described.kind, text: figureText(value, digits) }];
}

function workloadPart(workload: Workload, results: Results, medians: Medians): string {
  const chart = chartsOf(results).has(workload.name) ? [`![${workload.title}](charts/${workload.name}.svg)`, ""] : [];
  const table = markdownTable(workloadTable(workload, results, medians));
  const failures = results.measurements.filter(({ workload: name, error }) => name === workload.name && error);
  const notes = failures.map(
    ({ engine, round, error }) => `\n${engine}, repetition ${round}, failed: ${firstLine(error)}`,
  );
  return [
    `### ${workload.title}`,
    "",
    workload.about,
    "",
    `\`npm run bench -- ${workload.name}\``,
    "",
    ...chart,
    table,
    ...notes,
  ].join("\n");
}

function measuredWorkloads({ measurements }: Results): Workload[] {
  return WORKLOADS.filter(({ name }) => measurements.some(({ workload }) => workload === name));
}

function machineTable({ date, size, machine, versions, measurements }: Results): Table {
  const disturbed = measurements.filter(({ othersCores }) => (othersCores ?? 0) > 0.25).length;
  return [
    ["", ""],
    ["date", date],
    ...Object.entries(machine),
    ...Object.entries(versions),
    ["size", `${size}, interleaved repetitions: ${repetitionsOf(measurements)}`],
    ["measurements", `${measurements.length}, of which ${disturbed} while others used more than 0.25 cores`],
  ];
}

function settingsTable({ engines }: Results): Table {
  return [["engine", "settings"], ...Object.values(engines).map(({ title, settings }) => [title, settings])].map(
    (row) => row.map((cell) => cell.replaceAll("|", "\\|")),
  );
}

function firstLine(text = ""): string {
  return text.split("\n")[0]?.slice(0, 200) ?? "";
}
