/**
 * npm run bench [-- workload … | peers [peer … workload …] | codecs | telemetry | queues [rate] [fair] [line] | remote | report]
 *   --store sqlite,postgres  --repeat 3  --size tiny|normal|full  --set runs=500  --json file  --publish
 *   --against HEAD~1 (measures another commit beside this one)
 *   --others 0.25 (cores that other processes may use before a measurement is repeated)  --minutes 20 (then none is)
 * `peers` measures the peers beside us, `--publish` writes bench/results/latest.json and docs/PERFORMANCE.md from it, `report`
 * writes the page again from the published results.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { codecTable } from "./codecs.ts";
import { definitionOf, OWN, PEERS } from "./engines/definitions.ts";
import { earlier } from "./engines/earlier.ts";
import type { EngineDefinition } from "./lab/engine.ts";
import { type RoundsResult, runRounds } from "./lab/rounds.ts";
import { Stores } from "./lab/stores.ts";
import type { SizeName } from "./lab/workload.ts";
import { benchQueues } from "./queues.ts";
import { remoteTable } from "./remote.ts";
import { verdicts } from "./report/goals.ts";
import { Medians } from "./report/medians.ts";
import { writePage } from "./report/page.ts";
import type { Results } from "./report/results.ts";
import { machine, versions } from "./report/surroundings.ts";
import { againstTable, goalTable, plainTable, workloadTable } from "./report/table.ts";
import { telemetryTable } from "./telemetry.ts";
import { WORKLOADS, workloadOf } from "./workloads/workloads.ts";

const LATEST = fileURLToPath(new URL("results/latest.json", import.meta.url));

const HELP = `npm run bench [-- workload … | peers [peer … workload …] | codecs | telemetry | queues [rate] [fair] [line] | remote | report]

  workloads   ${WORKLOADS.map(({ name }) => name).join(", ")}
  peers       ${PEERS.join(", ")}

  --store sqlite,postgres    which of our stores
  --repeat 3                 interleaved repetitions
  --size normal              tiny, normal or full
  --set runs=500             a parameter of a workload
  --against HEAD~1           measures another commit too, interleaved, and shows the ratios
  --json file                write the results
  --publish                  write bench/results/latest.json, and docs/PERFORMANCE.md from it
  --others 0.25              cores that other processes may use before a measurement is repeated
  --minutes 20               after which no measurement is repeated
`;

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    help: { type: "boolean", default: false },
    store: { type: "string", default: "sqlite,postgres" },
    repeat: { type: "string", default: "3" },
    size: { type: "string", default: "normal" },
    json: { type: "string" },
    publish: { type: "boolean", default: false },
    others: { type: "string", default: "0.25" },
    minutes: { type: "string", default: "20" },
    against: { type: "string" },
    set: { type: "string", multiple: true, default: [] },
  },
});

if (values.help) console.log(HELP);
else if (positionals[0] === "report") writePage(JSON.parse(readFileSync(LATEST, "utf8")) as Results);
else if (positionals[0] === "codecs") console.log(codecTable());
else if (positionals[0] === "telemetry") console.log(await telemetryTable());
else if (positionals[0] === "queues") await queues();
else if (positionals[0] === "remote")
  console.log(await remoteTable({ kinds: values.store.split(","), rounds: Number(values.repeat), set: overrides() }));
else await bench();

function readArguments<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${HELP}`);
    process.exit(2);
  }
}

function overrides(): Record<string, number> {
  return Object.fromEntries(values.set.map((one) => [one.split("=")[0] as string, Number(one.split("=")[1])]));
}

async function queues(): Promise<void> {
  const stores = await Stores.open();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stopAt(stores));
  const kinds = (["sqlite", "postgres"] as const).filter((kind) => values.store.split(",").includes(kind));
  try {
    await benchQueues({ stores, kinds, parts: positionals.slice(1), set: overrides(), say: console.log });
  } finally {
    await stores.close();
  }
}

async function bench(): Promise<void> {
  const withPeers = positionals[0] === "peers";
  const named = positionals.slice(withPeers ? 1 : 0);
  const peers = withPeers ? named.filter((name) => PEERS.includes(name)) : [];
  const workloads = named.filter((name) => !peers.includes(name)).map(workloadOf);
  const stores = values.store.split(",");
  const own = OWN.filter((name) => stores.some((store) => name.endsWith(store)));
  const compared = own.filter((name) => name.startsWith("holdfast-"));
  const against = values.against === undefined ? [] : await earlier(values.against, compared);
  const names = [...own, ...(withPeers && peers.length === 0 ? PEERS : peers)];
  const present = await Promise.all(names.map(definitionOf));
  // Each engine runs beside its earlier self: the machine changes from one minute to the next.
  const definitions = present.flatMap((one) => [one, ...against.filter(({ name }) => name.startsWith(`${one.name}@`))]);
  if (!["tiny", "normal", "full"].includes(values.size)) throw new Error(`--size ${values.size}: tiny, normal or full`);
  const size = values.size as SizeName;
  for (const { title, settings } of definitions) console.error(`${title}: ${settings}`);
  const opened = await Stores.open();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stopAt(opened));
  try {
    const about = {
      date: new Date().toISOString().slice(0, 10),
      size,
      machine: machine(),
      versions: versions(opened.postgresVersion, definitions),
      engines: describe(definitions),
    };
    const began = performance.now();
    const params = {
      stores: opened,
      workloads: workloads.length > 0 ? workloads : WORKLOADS,
      definitions,
      size,
      overrides: overrides(),
      repeat: Number(values.repeat),
      othersCoresMax: Number(values.others),
      retryUntil: began + Number(values.minutes) * 60_000,
      sources: false,
      inProcess: false,
      say: (line: string) => console.error(`${Math.round((performance.now() - began) / 1000)} s  ${line}`),
    };
    const result = await runRounds(params, (soFar) => save({ ...about, ...rounded(soFar) }));
    report({ ...about, ...rounded(result) });
  } finally {
    await opened.close();
  }
}

/** The measured processes end on their own when the bench is gone; the server would not. */
function stopAt(stores: Stores): void {
  stores.stop();
  process.exit(130);
}

function report(results: Results): void {
  const medians = new Medians(results.measurements);
  for (const workload of WORKLOADS) {
    if (!results.measurements.some((one) => one.workload === workload.name)) continue;
    console.log(`\n${workload.title}\n${plainTable(workloadTable(workload, results, medians))}`);
  }
  const judged = verdicts(results, medians).filter(({ met }) => met !== undefined);
  console.log(`\nGoals\n${plainTable(goalTable(judged))}`);
  const against = againstTable(WORKLOADS, results, medians);
  if (against.length > 1) console.log(`\nNow, beside the earlier commit\n${plainTable(against)}`);
  if (values.publish) writePage(results);
}

/** Saves after every round, so that an interrupted bench leaves its results. */
function save(results: Results): void {
  const file = values.publish ? LATEST : values.json;
  if (file === undefined) return;
  mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
}

function describe(definitions: readonly EngineDefinition[]): Results["engines"] {
  return Object.fromEntries(definitions.map(({ name, title, kind, settings }) => [name, { title, kind, settings }]));
}

/** Six significant digits: the rest is noise. */
function rounded<T extends RoundsResult>(result: T): T {
  const round = (_key: string, value: unknown): unknown =>
    typeof value === "number" ? Number(value.toPrecision(6)) : value;
  return JSON.parse(JSON.stringify(result, round)) as T;
}
