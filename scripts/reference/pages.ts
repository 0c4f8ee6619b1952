// The layout of the reference: what is on which page. Exports that no page names come last on the page of their entry
// point.
import path from "node:path";
import { type Declaration, exportedNames, type Member, readDeclarations } from "./declarations.ts";

interface Section {
  readonly title: string;
  readonly names: readonly string[];
}

interface Page {
  readonly file: string;
  readonly title: string;
  readonly about: string;
  /** The folder of the sources, and its entry point. */
  readonly from: string;
  readonly entry: string;
  readonly sections: readonly Section[];
  /** Whether exports that no other page has go here. */
  readonly takes: (name: string) => boolean;
}

const CORE = "packages/holdfast/src";

/** How members are shown in code: `ctx.step`. */
const CALLED: Readonly<Record<string, string>> = {
  Context: "ctx",
  Client: "hf",
  RunHandle: "handle",
  Worker: "worker",
  Versions: "hf.versions",
  Workers: "hf.workers",
  Tasks: "hf.tasks",
  TestEngine: "t",
  VirtualClock: "t.clock",
  Tx: "tx",
};

/** Types whose members are only for store authors, or are documented elsewhere. */
const BRIEF: ReadonlySet<string> = new Set(["MemoryStore", "MemoryNotifier", "SeededSource", "MortalLife"]);

const isError = (name: string): boolean => /Error|ERROR/.test(name);

const PAGES: readonly Page[] = [
  {
    file: "define.md",
    title: "Define",
    about: 'Workflows, tasks, signals, and the values that their options take: `import { … } from "holdfast"`.',
    from: CORE,
    entry: "index.ts",
    takes: () => false,
    sections: [
      {
        title: "Workflows",
        names: ["workflow", "WorkflowOptions", "OnBug", "WorkflowFunction", "WorkflowDefinition", "AnyWorkflow"],
      },
      {
        title: "Tasks",
        names: [
          "task",
          "TaskOptions",
          "ExternalTaskOptions",
          "TaskFunction",
          "TaskInfo",
          "TaskSettings",
          "TaskDefinition",
          "AnyTask",
        ],
      },
      { title: "Signals", names: ["signal", "SignalDefinition"] },
      { title: "Retries", names: ["RetryOption", "GrowingRetry", "FixedRetry", "RetryIf", "RetryInfo", "RetryPolicy"] },
      { title: "Durations", names: ["Duration", "DurationParts", "CheckedDuration"] },
      { title: "Types", names: ["InputOf", "OutputOf", "Received", "Stored", "MaybeSchema"] },
    ],
  },
  {
    file: "in-a-workflow.md",
    title: "In a workflow",
    about: "What the function of a workflow receives: `ctx`, and the arguments of its calls.",
    from: CORE,
    entry: "index.ts",
    takes: () => false,
    sections: [
      { title: "ctx", names: ["Context", "RunInfo", "RunLogger", "LogMethod", "ContinueArguments"] },
      { title: "Steps", names: ["StepOptions", "StepFunction", "StepInfo", "Compensation", "CompensationInfo"] },
      { title: "Tasks", names: ["TaskCallOptions", "TaskArguments"] },
      {
        title: "Branches",
        names: [
          "ParallelOptions",
          "CollectAll",
          "Branch",
          "Branches",
          "BranchList",
          "BranchMap",
          "Outcomes",
          "Settled",
          "RaceResult",
        ],
      },
    ],
  },
  {
    file: "from-outside.md",
    title: "From outside",
    about:
      'Starting runs, finding them, sending them messages, and running workers: `import { connect } from "holdfast"`.',
    from: CORE,
    entry: "index.ts",
    takes: (name) => !isError(name),
    sections: [
      {
        title: "connect",
        names: ["connect", "ConnectOptions", "StoreOptions", "TlsOptions", "StoreAdapter", "Limits", "DEFAULT_LIMITS"],
      },
      { title: "The client", names: ["Client", "StartOptions", "StartRequest", "StartedMany", "StartArguments"] },
      {
        title: "Finding runs",
        names: ["ListFilter", "ListOptions", "RunPage", "PurgeOptions", "ReencodeOptions", "ReencodeProgress"],
      },
      {
        title: "One run",
        names: [
          "RunHandle",
          "ResultOptions",
          "SignalArguments",
          "RunDescription",
          "RunSummary",
          "StepView",
          "EventView",
        ],
      },
      { title: "Workers", names: ["WorkerOptions", "VerifyReplayOptions", "ReplayedRun", "WorkerTuning", "Worker"] },
      {
        title: "Task pools",
        names: ["TaskPoolOptions", "ByteSize", "TaskPoolStatus", "PoolProcessStatus", "RestartReason", "serveTasks"],
      },
      { title: "Tasks", names: ["Tasks", "TaskListOptions", "TaskPage", "TaskView", "TaskStatus", "TaskFailure"] },
      {
        title: "Operations",
        names: [
          "Versions",
          "VersionRow",
          "Workers",
          "WorkerRow",
          "WorkerEvent",
          "Health",
          "WorkerHealth",
          "Why",
          "Cause",
          "CauseKind",
          "RequestedCancel",
        ],
      },
      {
        title: "Logs, metrics, values",
        names: ["Logger", "silentLogger", "Telemetry", "Span", "SpanAbout", "StartAbout", "Codec", "jsonCodec"],
      },
      { title: "In a transaction of your own", names: ["ClientInTransaction"] },
    ],
  },
  {
    file: "errors.md",
    title: "Errors",
    about: "The classes. Every code, with what it means and what to do, is in [errors](../errors.md).",
    from: CORE,
    entry: "index.ts",
    takes: isError,
    sections: [
      { title: "All of them", names: ["HoldfastError", "isHoldfastError", "HoldfastErrorOptions"] },
      { title: "In a step", names: ["NonRetryableError", "RetryableError", "RetryableErrorOptions"] },
      {
        title: "From result()",
        names: ["RunFailedError", "RunCanceledError", "RunTerminatedError", "RunTimedOutError", "RunParkedError"],
      },
      { title: "From history", names: ["RecordedError", "ErrorRecord"] },
    ],
  },
  {
    file: "codecs.md",
    title: "Codecs",
    about: '`import { … } from "holdfast/codecs"`; [codecs](../guide/codecs.md) says when to use which.',
    from: CORE,
    entry: "codecs.ts",
    takes: () => true,
    sections: [
      {
        title: "Codecs",
        names: ["json", "messagePack", "compressed", "CompressedOptions", "encrypted", "EncryptedOptions"],
      },
    ],
  },
  {
    file: "testing.md",
    title: "Testing",
    about: '`import { … } from "holdfast/testing"`.',
    from: CORE,
    entry: "testing/index.ts",
    takes: () => true,
    sections: [
      {
        title: "The test engine",
        names: ["testEngine", "TestEngineOptions", "TestEngine", "StepMock", "VirtualClock"],
      },
      { title: "Crashes", names: ["crashEverywhere", "CrashEverywhereOptions", "CrashReport", "WorldModel"] },
      { title: "Replay", names: ["replay", "ReplayOutcome", "RecordedHistory"] },
    ],
  },
  {
    file: "sqlite.md",
    title: "@holdfast/sqlite",
    about: 'Transactions on SQLite. `connect("file:app.db")` loads the package on its own; see [SQLite](../sqlite.md).',
    from: "packages/sqlite/src",
    entry: "index.ts",
    takes: () => true,
    sections: [
      { title: "Transaction steps", names: ["transaction", "TransactionFunction", "TransactionOptions", "Tx"] },
      { title: "A run together with your own commit", names: ["inTransaction", "ApplicationDatabase"] },
    ],
  },
  {
    file: "postgres.md",
    title: "@holdfast/postgres",
    about:
      'Transactions on PostgreSQL. `connect("postgres://…")` loads the package on its own; see [PostgreSQL](../postgresql.md).',
    from: "packages/postgres/src",
    entry: "index.ts",
    takes: () => true,
    sections: [
      {
        title: "Transaction steps",
        names: ["transaction", "TransactionFunction", "TransactionOptions", "Tx", "TxQuery", "TxResult"],
      },
      { title: "A run together with your own commit", names: ["inTransaction", "ApplicationConnection"] },
    ],
  },
  {
    file: "telemetry.md",
    title: "@holdfast/telemetry",
    about: "Prometheus and OpenTelemetry; see [metrics and traces](../guide/telemetry.md).",
    from: "packages/telemetry/src",
    entry: "index.ts",
    takes: () => true,
    sections: [
      { title: "Prometheus", names: ["prometheus", "PrometheusOptions", "PrometheusTelemetry"] },
      { title: "OpenTelemetry", names: ["openTelemetry", "OpenTelemetryOptions"] },
    ],
  },
];

/** The pages as they should be, by file name, and what is wrong with the doc comments behind them. */
export function renderReference(root: string): {
  readonly pages: ReadonlyMap<string, string>;
  readonly faults: string[];
} {
  const pages = new Map<string, string>();
  const faults: string[] = [];
  const known = new Map<string, ReadonlyMap<string, Declaration>>();
  for (const page of PAGES) {
    const declared = known.get(page.from) ?? readDeclarations(path.join(root, page.from));
    known.set(page.from, declared);
    const exported = exportedNames(path.join(root, page.from, page.entry));
    const sections = [...page.sections, { title: "Also exported", names: unnamed(page, exported) }];
    const text = sections.flatMap(({ title, names }) => {
      const shown = names.flatMap(
        (name) => declared.get(name) ?? faulty(faults, `${page.file}: there is no export called ${name}`),
      );
      for (const declaration of shown) checkDefaults(declaration, declared, faults);
      return shown.length === 0 ? [] : [`## ${title}`, ...shown.flatMap((declaration) => entry(declaration, declared))];
    });
    pages.set(page.file, `${[`# ${page.title}`, HEAD, page.about, ...text].join("\n\n")}\n`);
  }
  pages.set("README.md", `${index(pages)}\n`);
  return { pages, faults };
}

const HEAD = "<!-- Written by `npm run docs` from the doc comments in the sources. Change those. -->";

function unnamed({ entry: entryFile, from, takes }: Page, exported: readonly string[]): string[] {
  const named = new Set(
    PAGES.filter((page) => page.from === from && page.entry === entryFile).flatMap(({ sections }) =>
      sections.flatMap(({ names }) => names),
    ),
  );
  return exported.filter((name) => !named.has(name) && takes(name));
}

function index(pages: ReadonlyMap<string, string>): string {
  const rows = PAGES.map(({ file, title, about }) => {
    const names = [...(pages.get(file) ?? "").matchAll(/^### `?([\w.]+)/gm)].map((match) => `\`${match[1]}\``);
    return `| [${title}](${file}) | ${about.replaceAll("](../", "](../")} | ${names.slice(0, 8).join(", ")}${names.length > 8 ? ", …" : ""} |`;
  });
  return [
    "# Reference",
    HEAD,
    "Every export, with its signature, its options and their defaults, as the editor shows them. The [guide](../guide/README.md) explains how it fits together.",
    ["| page | what it is about | |", "|---|---|---|", ...rows].join("\n"),
  ].join("\n\n");
}

function entry(declaration: Declaration, declared: ReadonlyMap<string, Declaration>): string[] {
  const { name, kind, doc, signatures } = declaration;
  const about = doc.text === "" ? [] : [doc.text];
  const code = shownSignatures(signatures);
  const members = BRIEF.has(name) ? [] : membersWithParents(declaration, declared);
  const called = CALLED[name];
  const heading = called ? `### ${called}` : `### ${name}`;
  const head = called ? [`\`${called}\` is a \`${name}\`.`] : [];
  const block = code.length === 0 ? [] : [`\`\`\`ts\n${code.join("\n")}\n\`\`\``];
  if (kind === "interface" && members.every(({ type }) => type !== undefined) && !called)
    return [heading, ...about, ...block, ...table(members)];
  return [heading, ...about, ...head, ...block, ...members.flatMap((member) => memberEntry(called ?? name, member))];
}

function memberEntry(owner: string, { name, doc, type, signatures }: Member): string[] {
  const code = type === undefined ? shownSignatures(signatures) : [`${name}: ${type}`];
  return [`#### ${owner}.${name}`, ...(doc.text === "" ? [] : [doc.text]), `\`\`\`ts\n${code.join("\n")}\n\`\`\``];
}

/** Of overloads that differ only for the compiler, the most general one. */
function shownSignatures(signatures: readonly string[]): string[] {
  const general = signatures.filter((text) => !text.includes("& Whole<"));
  return [...new Set(general.length > 0 ? general : signatures)];
}

function table(members: readonly Member[]): string[] {
  if (members.length === 0) return [];
  const hasDefaults = members.some(({ doc }) => doc.defaultValue !== undefined);
  const head = hasDefaults ? ["| | type | default | |", "|---|---|---|---|"] : ["| | type | |", "|---|---|---|"];
  const rows = members.map(({ name, doc, optional, type = "" }) => {
    const fallback = hasDefaults ? ` ${cell(doc.defaultValue ?? (optional ? "" : "required"))} |` : "";
    return `| \`${name}${optional ? "?" : ""}\` | \`${type.replaceAll("|", "\\|")}\` |${fallback} ${cell(doc.text)} |`;
  });
  return [[...head, ...rows].join("\n")];
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replace(/\n+/g, " ");
}

function membersWithParents(declaration: Declaration, declared: ReadonlyMap<string, Declaration>): readonly Member[] {
  const inherited = declaration.parents.flatMap((parent) => {
    const found = declared.get(parent);
    return found && declaration.kind === "interface" ? membersWithParents(found, declared) : [];
  });
  const own = new Set(declaration.members.map(({ name }) => name));
  return [...declaration.members, ...inherited.filter(({ name }) => !own.has(name))];
}

/** An option without a documented default makes people look for it in the sources. */
function checkDefaults(declaration: Declaration, declared: ReadonlyMap<string, Declaration>, faults: string[]): void {
  const { name, kind, doc } = declaration;
  if (doc.text === "" && kind !== "const") faults.push(`${name} has no doc comment`);
  const isOptions = /Options$|Filter$|^(?:Growing|Fixed)Retry$/.test(name) && kind === "interface";
  if (!isOptions && !CALLED[name]) return;
  for (const member of membersWithParents(declaration, declared)) {
    if (member.doc.text === "") faults.push(`${name}.${member.name} has no doc comment`);
    if (isOptions && member.optional && !member.doc.defaultValue)
      faults.push(`${name}.${member.name} does not document its default (@defaultValue)`);
  }
}

function faulty(faults: string[], fault: string): [] {
  faults.push(fault);
  return [];
}
