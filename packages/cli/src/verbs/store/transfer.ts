/** `export`, `import` and `move`: the client does it; an earlier version of the core says that it cannot. */
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import type { Client, ListFilter } from "holdfast";
import type { Call } from "../../command/call.ts";
import { OPEN_STATUSES } from "../../command/run-statuses.ts";
import { readFilter } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { CommandError, UsageError } from "../../io/failure.ts";
import { sqliteFile } from "../../io/target.ts";
import { countCodes, runs, showCounts } from "../workflow/act.ts";

/** What the calls answer: how many runs, and how many were left out. */
interface Transferred {
  readonly runs: number;
  readonly skipped: readonly unknown[];
  readonly skippedCount: number;
  /** An earlier version of the core does not count them. */
  readonly skippedCodes?: Readonly<Record<string, number>>;
}

interface Transfers {
  export?(options: { readonly filter?: ListFilter; readonly to: string | Writable }): Promise<Transferred>;
  import?(options: { readonly from: string | Readable }): Promise<Transferred>;
  move?(options: { readonly to: string | Client; readonly filter?: ListFilter }): Promise<Transferred>;
}

export const exportRuns: Action = async (call) => {
  const to = call.required("to");
  const filter = readFilter(call);
  const hf = await call.open();
  const write = await ableTo(call, hf, "export");
  const place = to === "-" ? (call.io.stdout as unknown as Writable) : path.resolve(call.io.cwd, to);
  const done = await call.unlessInterrupted(write({ to: place, ...(filter ? { filter } : {}) }));
  // Standard output has the runs themselves, which are JSON lines already.
  if (to === "-") call.out.note(`Exported ${runs(done.runs)}`);
  else report(call, "Exported", done);
  return undefined;
};

export const importRuns: Action = async (call) => {
  const from = call.required("from");
  const hf = await call.open({ create: "empty" });
  const read = await ableTo(call, hf, "import");
  const place = from === "-" ? call.io.stdin : path.resolve(call.io.cwd, from);
  const imported = await call.unlessInterrupted(read({ from: place })).catch((error: unknown) => {
    throw partlyImported(error);
  });
  report(call, "Imported", imported);
  return undefined;
};

/** A file that is damaged further down: what stands before is stored, so this is not "the command line is wrong, nothing was done". */
function partlyImported(error: unknown): unknown {
  const { code, data, message } = error as {
    readonly code?: string;
    readonly data?: { readonly line?: number; readonly runs?: number };
    readonly message?: string;
  };
  if (code !== "invalid_export" || !data?.runs) return error;
  return new CommandError(
    `${message} ${runs(data.runs)} before it ${data.runs === 1 ? "was" : "were"} imported, and will be skipped when you import again.`,
    { code, exitCode: EXIT.failed, data: { ...data }, cause: error },
  );
}

export const moveRuns: Action = async (call) => {
  const to = call.required("to");
  const filter = readFilter(call) ?? (call.flag("all") ? {} : undefined);
  if (filter === undefined) throw new UsageError("Say which runs with filters (--workflow, --status …), or --all.");
  const { url, namespace } = call.target();
  // It ends with this command, and the runs with it.
  if (/^memory:/i.test(to))
    throw new UsageError(
      "--to is a store in memory, which would end with this command. Name a file, a database or a server.",
    );
  if (to === url || (sqliteFile(to, call.io.cwd) ?? to) === (sqliteFile(url, call.io.cwd) ?? url))
    throw new UsageError("--to is the store that the runs are in.");
  const hf = await call.open();
  const move = await ableTo(call, hf, "move");
  const matched = await hf.count({ status: OPEN_STATUSES, ...filter });
  if (matched > 0 && !(await call.confirm(`${runs(matched)} will be moved to the other store. Go on?`)))
    return call.declined();
  const other = await call.openAt({ url: to, namespace, token: undefined, from: "flag" }, { create: "empty" });
  report(call, "Moved", await call.unlessInterrupted(move({ to: other, filter })));
  return undefined;
};

async function ableTo<K extends keyof Transfers>(call: Call, hf: Client, name: K): Promise<NonNullable<Transfers[K]>> {
  const able = (hf as unknown as Transfers)[name];
  if (typeof able === "function") return able.bind(hf) as NonNullable<Transfers[K]>;
  const { HoldfastError } = await call.core();
  throw new HoldfastError(
    "not_supported",
    `This version of holdfast has no hf.${name}(). Run: npm install holdfast@latest`,
  );
}

function report(call: Call, what: string, { runs: count, ...rest }: Transferred): void {
  const { skipped, skippedCount, skippedCodes } = rest;
  const left = skippedCount === 0 ? "" : `, ${skippedCount.toLocaleString("en-US")} skipped`;
  call.out.done(`${what} ${runs(count)}${left}`, { runs: count, ...rest });
  showCounts(call, skippedCodes ?? countCodes(skipped as readonly { readonly code: string }[]));
}
