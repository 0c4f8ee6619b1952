/** What was asked for on the command line, or why it makes no sense. */
import { parseArgs } from "node:util";

export const HELP = `Runs workflows on your database while it kills their workers, and checks that nothing is lost and nothing is done twice.

  npm run torture -- [<url>] [options]

  <url>            file:app.db               makes a folder of its own beside that file
                   postgres://user@host/db   makes a schema of its own in that database; ends only its own connections
                   sqlite                    a file in the temporary folder
                   postgres                  a server of its own, which is crashed now and then (this is the default)

  --minutes <n>    how long; 5 if not given
  --workers <n>    how many worker processes; 4 if not given
  --seed <n>       repeats the choices of an earlier campaign (their timing is never quite the same)
  --json           the report as JSON, and nothing else, on standard output
  --keep           leaves the file or the schema behind

Exit code: 0 all is well, 1 there are findings, 2 it could not be run.
`;

export interface TortureRequest {
  /** Null: a server of its own. */
  readonly url: string | null;
  readonly minutes: number;
  readonly workers: number;
  readonly seed: number;
  readonly json: boolean;
  readonly keep: boolean;
}

export class CommandLineError extends Error {}

/** "help" when that is what was asked for. */
export function readCommandLine(args: readonly string[], randomSeed: number): TortureRequest | "help" {
  const { values, positionals } = parse(args);
  if (values.help) return "help";
  if (positionals.length > 1) throw new CommandLineError(`one URL is enough, not ${positionals.length}`);
  return {
    url: readUrl(positionals[0] ?? "postgres"),
    minutes: readNumber("minutes", values.minutes, { byDefault: 5, least: 0.1, most: 10_000, whole: false }),
    workers: readNumber("workers", values.workers, { byDefault: 4, least: 2, most: 64, whole: true }),
    seed: readNumber("seed", values.seed, { byDefault: randomSeed, least: 0, most: 2 ** 32, whole: true }),
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
  // Not repeated: it may hold a password.
  throw new CommandLineError("the URL is none that the torture knows: file:app.db, postgres://…, sqlite or postgres");
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
