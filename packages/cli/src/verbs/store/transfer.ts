/** `export`, `import` and `move`: the client does it; an earlier version of the core says that it cannot. */
import { createReadStream, createWriteStream } from "node:fs";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import type { Client, ListFilter } from "holdfast";
import type { Call } from "../../command/call.ts";
import { readFilter } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";
import { sqliteFile } from "../../io/target.ts";
import { runs } from "../workflow/act.ts";

/** What the calls answer: how many runs, and how many were left out. */
interface Transferred {
  readonly runs: number;
  readonly skipped: unknown;
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
  const place =
    to === "-"
      ? (call.io.stdout as unknown as Writable)
      : createWriteStream(path.resolve(call.io.cwd, to), { mode: 0o600 });
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
  const place = from === "-" ? call.io.stdin : createReadStream(path.resolve(call.io.cwd, from));
  report(call, "Imported", await call.unlessInterrupted(read({ from: place })));
  return undefined;
};

export const moveRuns: Action = async (call) => {
  const to = call.required("to");
  const filter = readFilter(call) ?? (call.flag("all") ? {} : undefined);
  if (filter === undefined) throw new UsageError("Say which runs with filters (--workflow, --status …), or --all.");
  const { url, namespace } = call.target();
  if (to === url || (sqliteFile(to, call.io.cwd) ?? to) === (sqliteFile(url, call.io.cwd) ?? url))
    throw new UsageError("--to is the store that the runs are in.");
  const hf = await call.open();
  const move = await ableTo(call, hf, "move");
  const open = ["pending", "running", "sleeping", "waiting", "compensating", "parked"] as const;
  const matched = await hf.count({ status: open, ...filter });
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

function report(call: Call, what: string, { runs: count, skipped }: Transferred): void {
  const left = Array.isArray(skipped) ? skipped.length : Number(skipped ?? 0);
  call.out.done(`${what} ${runs(count)}${left === 0 ? "" : `, ${left} skipped`}`, { runs: count, skipped });
}
