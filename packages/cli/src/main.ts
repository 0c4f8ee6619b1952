/** The command: finds the verb, runs it, and turns what goes wrong into a message and an exit code. */
import { Call } from "./command/call.ts";
import { commandHelp, groupHelp, verbHelp } from "./command/help.ts";
import { nearest } from "./command/nearest.ts";
import { type Found, findVerb, readValues, requireArguments, seeHelp } from "./command/parse.ts";
import { VERBS } from "./command/verbs.ts";
import { EXIT } from "./io/exit-code.ts";
import { CommandError, type Failure, failureOf, UsageError } from "./io/failure.ts";
import type { Io, Sink } from "./io/io.ts";
import { DEFAULT_URL } from "./io/target.ts";
import { jsonLine } from "./output/json-line.ts";
import { paintFor } from "./output/paint.ts";
import { harmless } from "./output/width.ts";
import { version } from "./version.ts";

/** Runs the command line `argv` (without the program) and returns its exit code. Never throws, and never ends the process. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  const end = argv.indexOf("--");
  const json = (end < 0 ? argv : argv.slice(0, end)).includes("--json");
  try {
    return await run(argv, io);
  } catch (error) {
    const failure = failureOf(error, error instanceof CommandError ? {} : await registry(io));
    report(failure, error, json, io);
    return failure.exitCode;
  }
}

async function run(argv: readonly string[], io: Io): Promise<number> {
  if (argv[0] === "--complete") return complete(argv.slice(1), io);
  const found = findVerb(VERBS, argv[0] === "help" ? [...argv.slice(1), "--help"] : argv);
  const { verb, rest } = found;
  if (found.unknown !== undefined) throw unknownVerb(found);
  const values = readValues(verb, rest);
  if (values.options.has("version")) return print(io, version());
  if (verb === undefined) return help(found, io, values.options.has("help"));
  if (values.options.has("help")) return print(io, verbHelp(verb, paintFor(io, io.stdout), widthOf(io.stdout)));
  requireArguments(verb, values.words);
  const action = await verb.load();
  const call = new Call(verb, values, io);
  try {
    return (await action(call)) ?? EXIT.done;
  } catch (error) {
    throw await withHint(call, error, io);
  } finally {
    await call.close();
  }
}

/** Nobody named the server that does not answer: then that is what to say. */
async function withHint(call: Call, error: unknown, io: Io): Promise<unknown> {
  if (!call.triedDefault) return error;
  const failure = failureOf(error, error instanceof CommandError ? {} : await registry(io));
  if (failure.exitCode !== EXIT.unreachable) return error;
  const hint = `No store or server was named, so ${DEFAULT_URL} was tried. Name one with --url, HOLDFAST_URL or a context, or start one with: holdfast dev`;
  const { message, code, kind, data, exitCode } = failure;
  return new CommandError(`${message.replace(/\.?$/, ".")} ${hint}`, { code, kind, data, exitCode, cause: error });
}

function help({ path }: Found, io: Io, asked: boolean): number {
  const [group] = path;
  if (group === undefined) return print(io, commandHelp(VERBS, paintFor(io, io.stdout), widthOf(io.stdout)));
  if (asked) return print(io, groupHelp(VERBS, group, paintFor(io, io.stdout), widthOf(io.stdout)));
  io.stderr.write(`${groupHelp(VERBS, group, paintFor(io, io.stderr), widthOf(io.stderr))}\n`);
  return EXIT.usage;
}

async function complete(words: readonly string[], io: Io): Promise<number> {
  const completion = await import("./command/completion.ts");
  for (const line of completion.complete(VERBS, words)) io.stdout.write(`${line}\n`);
  return EXIT.done;
}

function unknownVerb({ path, unknown = "" }: Found): UsageError {
  const prefix = path.length === 0 ? "" : `${path.join(" ")} `;
  const words = VERBS.filter((verb) => verb.path.startsWith(prefix)).map(
    (verb) => verb.path.slice(prefix.length).split(" ")[0] as string,
  );
  const near = nearest(unknown, [...new Set(words)]);
  const hint = near === undefined ? "" : ` Did you mean "${near}"?`;
  const where = prefix === "" ? "is not a verb of holdfast" : `is not a verb of holdfast ${prefix.trim()}`;
  return new UsageError(`"${unknown}" ${where}.${hint} ${seeHelp(prefix.trim())}`);
}

/** Which codes there are, and what they mean for the caller. Without the core, there can be none of its errors. */
async function registry(io: Io): Promise<Record<string, { readonly caller: string }>> {
  try {
    return (await io.core()).ERROR_CODES;
  } catch {
    return {};
  }
}

function report({ code, kind, message, data }: Failure, error: unknown, json: boolean, io: Io): void {
  if (json) {
    io.stderr.write(`${jsonLine({ code, kind, message, data })}\n`);
    return;
  }
  if (code === "interrupted") return;
  const paint = paintFor(io, io.stderr);
  const shown = code === "unknown" || code === "usage" ? "" : paint.dim(` (${code})`);
  io.stderr.write(`${paint.red("error:")} ${harmless(message)}${shown}\n`);
  if (code === "unknown" && io.env["HOLDFAST_DEBUG"] && error instanceof Error) io.stderr.write(`${error.stack}\n`);
}

function widthOf({ isTTY, columns }: Sink): number | undefined {
  return isTTY === true ? (columns ?? 80) : undefined;
}

function print(io: Io, text: string): number {
  io.stdout.write(`${text}\n`);
  return EXIT.done;
}
