/** Parses the command line, or says what is wrong with it. */
import { parseArgs } from "node:util";

export const HELP = `Runs workflows on your database while it kills their workers, and checks that nothing is lost and nothing is repeated.

  npm run torture -- [<url>] [options]

  <url>            file:app.db               makes a separate folder beside that file
                   postgres://user@host/db   makes a separate schema in that database; ends only its own connections
                   sqlite                    a file in the temporary folder
                   postgres                  starts a server, which is crashed now and then (the default)

  --minutes <n>    how long; default 5
  --workers <n>    how many worker processes; default 4
  --seed <n>       repeats the choices of an earlier campaign (the timing is never exactly the same)
  --only <kind>    only runs of one kind, and only faults that concern them: tasks, or conversations (children, messages
                   between runs, updates), or schedules, whose leaders are killed; or mutual: no faults, but two workers on PostgreSQL whose runs start, signal and
                   await each other, which must not deadlock (default: 1 minute); or moves: 1,000 unfinished runs move from SQLite to
                   PostgreSQL while their mover is killed five times, and back
  --json           the report as JSON, and nothing else, on standard output
  --keep           keeps the file or the schema

Exit code: 0 no findings, 1 findings, 2 the campaign could not run.
`;

const ONLY = ["tasks", "conversations", "schedules", "mutual", "moves"] as const;
/** Campaigns of their own. */
const APART = ["schedules", "mutual", "moves"] as const;
/** The kinds of runs that a campaign can be limited to. */
export type Only = Exclude<(typeof ONLY)[number], (typeof APART)[number]>;

export interface TortureRequest {
  /** Null: start a server. */
  readonly url: string | null;
  readonly minutes: number;
  readonly workers: number;
  readonly seed: number;
  readonly only: (typeof ONLY)[number] | undefined;
  readonly json: boolean;
  readonly keep: boolean;
}

export class CommandLineError extends Error {}

/** "help" if help was requested. */
export function readCommandLine(args: readonly string[], randomSeed: number): TortureRequest | "help" {
  const { values, positionals } = parse(args);
  if (values.help) return "help";
  if (positionals.length > 1) throw new CommandLineError(`pass one URL, not ${positionals.length}`);
  const only = readOnly(values.only);
  const url = readUrl(positionals[0] ?? "postgres");
  if (only === "mutual" && url !== null && !/^postgres/i.test(url))
    throw new CommandLineError("--only mutual is about the locks of PostgreSQL: pass postgres, or the URL of a server");
  if (only === "moves" && url !== null && !/^postgres/i.test(url))
    throw new CommandLineError("--only moves is between SQLite and PostgreSQL: pass postgres, or the URL of a server");
  return {
    url,
    minutes: readNumber("minutes", values.minutes, {
      byDefault: only === "mutual" ? 1 : 5,
      least: 0.1,
      most: 10_000,
      whole: false,
    }),
    workers: readNumber("workers", values.workers, { byDefault: 4, least: 2, most: 64, whole: true }),
    seed: readNumber("seed", values.seed, { byDefault: randomSeed, least: 0, most: 2 ** 32, whole: true }),
    only,
    json: values.json ?? false,
    keep: values.keep ?? false,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        minutes: { type: "string" },
        workers: { type: "string" },
        seed: { type: "string" },
        only: { type: "string" },
        json: { type: "boolean" },
        keep: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new CommandLineError((error as Error).message.split(". ")[0] as string);
  }
}

function readUrl(given: string): string | null {
  if (given === "postgres") return null;
  if (given === "sqlite" || /^(?:file|sqlite|postgres(?:ql)?):/i.test(given)) return given;
  // The URL is not repeated: it may contain a password.
  throw new CommandLineError("the URL is not one of file:app.db, postgres://…, sqlite or postgres");
}

function readOnly(given: string | undefined): TortureRequest["only"] {
  const found = ONLY.find((only) => only === given);
  if (given === undefined || found !== undefined) return found;
  throw new CommandLineError(`--only is ${JSON.stringify(given)}; it must be one of ${ONLY.join(", ")}`);
}

interface Bounds {
  readonly byDefault: number;
  readonly least: number;
  readonly most: number;
  readonly whole: boolean;
}

function readNumber(name: string, given: string | undefined, { byDefault, least, most, whole }: Bounds): number {
  if (given === undefined) return byDefault;
  const value = given.trim() === "" ? Number.NaN : Number(given);
  if (value >= least && value <= most && (!whole || Number.isInteger(value))) return value;
  const kind = whole ? "a whole number" : "a number";
  throw new CommandLineError(`--${name} is ${JSON.stringify(given)}; it must be ${kind} from ${least} to ${most}`);
}
