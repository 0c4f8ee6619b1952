/** The help: of the command, of a group, of a verb. */
import type { Paint } from "../output/paint.ts";
import { padEnd } from "../output/width.ts";
import { GLOBAL_OPTIONS, type VerbOption, type VerbShape } from "./verb-shape.ts";

/** Of a pipe, and at most of a terminal. */
const LINE_WIDTH_MAX = 100;
/** What help needs to be readable. */
const LINE_WIDTH_MIN = 40;

const EVERY_VERB = "--url, --namespace, --token, --context, --codec and --json go with every verb: holdfast --help";

interface Section {
  readonly title: string;
  readonly groups: readonly string[];
}

/** In which order groups and verbs are shown. */
const SECTIONS: readonly Section[] = [
  { title: "Develop and run", groups: ["dev", "server", "worker", "migrate", "health", "top"] },
  { title: "Runs", groups: ["workflow", "schedule", "tasks"] },
  { title: "Operate", groups: ["queue", "workers", "versions", "retention", "purge", "export", "import", "move"] },
  { title: "Check", groups: ["replay-check", "bench", "torture"] },
  { title: "Access", groups: ["namespace", "token", "audit"] },
  { title: "This command", groups: ["context", "completion"] },
];

/** What a group is about. */
export const GROUPS: Readonly<Record<string, string>> = {
  workflow: "list, start, look at, and act on runs",
  schedule: "workflows that are started at certain times",
  tasks: "tasks that wait, and dead letters",
  queue: "queues and their limits",
  workers: "workers, as the store knows them",
  versions: "versions of workflows, and which one new runs get",
  retention: "how long ended runs are kept",
  namespace: "namespaces that servers know",
  token: "keys for servers",
  context: "named stores and servers",
};

export function commandHelp(verbs: readonly VerbShape[], paint: Paint, width?: number): string {
  const lines = [
    `${paint.bold("holdfast")}: durable workflows, from the command line`,
    "",
    "holdfast [options] <verb> …",
  ];
  for (const { title, groups } of SECTIONS) {
    const rows = groups.flatMap((group) => groupRows(verbs, group));
    if (rows.length > 0) lines.push("", paint.bold(title), ...columns(rows, paint, width));
  }
  lines.push("", paint.bold("Options"), ...columns(GLOBAL_OPTIONS.map(optionRow), paint, width));
  lines.push(
    "",
    paint.bold("Examples"),
    ...[
      "holdfast dev app.ts",
      "holdfast --url file:app.db workflow list --status failed",
      "holdfast --url postgres://localhost/app workflow watch order-1",
    ].map((example) => `  ${paint.cyan(example)}`),
    "",
    paint.dim("holdfast <verb> --help has the options and examples of a verb."),
  );
  return lines.join("\n");
}

function groupRows(verbs: readonly VerbShape[], group: string): [string, string][] {
  const own = verbs.filter(({ path }) => path === group || path.startsWith(`${group} `));
  const [first] = own;
  if (first === undefined) return [];
  if (first.path === group) return [[usage(first), first.about]];
  const names = own.map(({ path }) => path.slice(group.length + 1)).join(", ");
  return [[group, `${GROUPS[group] ?? ""}: ${names}`]];
}

export function groupHelp(verbs: readonly VerbShape[], group: string, paint: Paint, width?: number): string {
  const own = verbs.filter(({ path }) => path.startsWith(`${group} `));
  return [
    `${paint.bold(`holdfast ${group}`)}: ${GROUPS[group] ?? ""}`,
    "",
    ...columns(
      own.map((verb) => [usage(verb), verb.about]),
      paint,
      width,
    ),
    "",
    paint.dim(`holdfast ${group} <verb> --help has the options and examples of a verb.`),
  ].join("\n");
}

export function verbHelp(verb: VerbShape, paint: Paint, width?: number): string {
  const { about, details, options = [], examples } = verb;
  const lines = [`${paint.bold(`holdfast ${usage(verb)}`)}`, "", ...wrapped(sentence(about), lineWidthOf(width))];
  if (details !== undefined) lines.push("", ...wrapped(details, lineWidthOf(width)));
  const words = verb.arguments ?? [];
  if (words.length > 0)
    lines.push(
      "",
      paint.bold("Arguments"),
      ...columns(
        words.map(({ name, about: what }) => [`<${name}>`, what]),
        paint,
        width,
      ),
    );
  if (options.length > 0) lines.push("", paint.bold("Options"), ...columns(options.map(optionRow), paint, width));
  lines.push("", paint.bold("Examples"), ...examples.map((example) => `  ${paint.cyan(example)}`));
  lines.push("", ...wrapped(EVERY_VERB, lineWidthOf(width)).map((line) => paint.dim(line)));
  return lines.join("\n");
}

export function usage({ path, arguments: words = [] }: VerbShape): string {
  const shown = words.map(({ name, optional, many }) => {
    const word = `<${name}${many === true ? "…" : ""}>`;
    return optional === true ? `[${word}]` : word;
  });
  return [path, ...shown].join(" ");
}

function optionRow({ name, value, about, choices }: VerbOption): [string, string] {
  return [`--${name}${value === undefined ? "" : ` <${value}>`}`, choices ? `${about}: ${choices.join(", ")}` : about];
}

/** Two columns; the right one is wrapped to `lineWidth`, that of the terminal. */
function columns(rows: readonly (readonly [string, string])[], paint: Paint, lineWidth: number | undefined): string[] {
  const width = Math.min(34, Math.max(...rows.map(([left]) => left.length)));
  const room = lineWidthOf(lineWidth) - width - 4;
  return rows.flatMap(([left, right]) => {
    const [first = "", ...more] = wrapped(right, room);
    const rest = more.map((line) => `  ${" ".repeat(width)}  ${paint.dim(line)}`);
    if (left.length > width) return [`  ${left}`, `  ${" ".repeat(width)}  ${paint.dim(first)}`, ...rest];
    return [`  ${padEnd(left, width)}  ${paint.dim(first)}`, ...rest];
  });
}

function lineWidthOf(width = LINE_WIDTH_MAX): number {
  return Math.max(LINE_WIDTH_MIN, Math.min(LINE_WIDTH_MAX, width));
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
