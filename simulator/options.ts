import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

export interface SimOptions {
  readonly from: number;
  readonly count: number;
  /** Only every n-th seed: how jobs share them. */
  readonly step: number;
  readonly jobs: number;
  readonly shrink: boolean;
  readonly json: boolean;
  readonly trace: boolean;
  /** Stop at the first seed that fails. */
  readonly first: boolean;
  /** Stop at the first seed in which this checker finds a violation. */
  readonly until: string | undefined;
  /** A configuration to use instead of the seed's own. */
  readonly config: unknown;
}

export const USAGE = `npm run sim -- [options]
  --seed N          one seed; prints its configuration, the trace hash and what is wrong
  --seeds A..B      these seeds
  --from A --count N
  --jobs N          the number of processes
  --first           stop at the first failure
  --until CHECKER   stop at the first failure that this checker finds
  --shrink          with --seed: simplify the configuration while the failure stays
  --config FILE     use the configuration in this file (JSON, as --json prints it) instead of the one from the seed
  --trace           print everything that happened
  --json            one line of JSON per seed`;

export function readOptions(args: readonly string[]): SimOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      seeds: { type: "string" },
      from: { type: "string" },
      count: { type: "string" },
      step: { type: "string" },
      jobs: { type: "string" },
      config: { type: "string" },
      shrink: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      trace: { type: "boolean", default: false },
      first: { type: "boolean", default: false },
      until: { type: "string" },
    },
  });
  const number = (text: string | undefined, fallback: number): number => {
    const value = text === undefined ? fallback : Number(text);
    if (!Number.isInteger(value)) throw new Error(`"${text}" is not a whole number.\n${USAGE}`);
    return value;
  };
  const [first, last] = (values.seeds ?? "").split("..");
  const from = number(values.seed ?? (values.seeds === undefined ? values.from : first), 1);
  const count =
    values.seed !== undefined
      ? 1
      : values.seeds === undefined
        ? number(values.count, 100)
        : number(last, from) - from + 1;
  const { shrink, json, trace } = values;
  const config: unknown = values.config === undefined ? undefined : JSON.parse(readFileSync(values.config, "utf8"));
  const step = number(values.step, 1);
  return {
    from,
    count,
    step,
    jobs: number(values.jobs, 1),
    shrink,
    json,
    trace,
    first: values.first,
    until: values.until,
    config,
  };
}
