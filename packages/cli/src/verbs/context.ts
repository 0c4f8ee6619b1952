/** `context add|use|list|remove`. */

import { pathToFileURL } from "node:url";
import { given } from "../command/values.ts";
import type { Action } from "../command/verb.ts";
import { type Context, contextsFile, readContexts, writeContexts } from "../io/contexts.ts";
import { UsageError } from "../io/failure.ts";
import { shownUrl, sqliteFile, unknownContext } from "../io/target.ts";
import type { Column } from "../output/table.ts";

const NAME = /^[\w.-]{1,100}$/;

interface Row {
  readonly name: string;
  readonly url: string;
  readonly namespace: string | null;
  readonly hasToken: boolean;
  readonly current: boolean;
}

export const add: Action = async (call) => {
  const name = call.argument("name");
  if (!NAME.test(name))
    throw new UsageError(`"${name}" is no name for a context: use letters, digits, ".", "_" and "-".`);
  const wanted = call.required("url");
  if (!/^(?:file|sqlite|postgres|postgresql|https?|memory):/i.test(wanted))
    throw new UsageError(
      `--url is "${shownUrl(wanted)}", no store or server: write file:app.db, postgres://user@host/database or https://host:7433.`,
    );
  // A relative file would be another one in every folder.
  const file = sqliteFile(wanted, call.io.cwd);
  const url = file === undefined ? wanted : pathToFileURL(file).href;
  const { current, contexts } = readContexts(call.io);
  const context = { url, ...given({ namespace: call.text("namespace"), token: call.text("token") }) } as Context;
  const next = { current: current ?? name, contexts: { ...contexts, [name]: context } };
  writeContexts(call.io, next);
  const used = next.current === name;
  call.out.done(
    `Added ${call.out.paint.bold(name)}: ${shownUrl(url)}${used ? "; it is in use" : `. Use it with: holdfast context use ${name}`}`,
    rowOf(name, context, next.current),
  );
  return undefined;
};

export const use: Action = async (call) => {
  const name = call.argument("name");
  const { contexts } = readContexts(call.io);
  const context = contexts[name];
  if (context === undefined) throw unknownContext(name, Object.keys(contexts));
  writeContexts(call.io, { current: name, contexts });
  call.out.done(`${call.out.paint.bold(name)} is in use: ${shownUrl(context.url)}`, rowOf(name, context, name));
  return undefined;
};

export const list: Action = async (call) => {
  const { current, contexts } = readContexts(call.io);
  const rows = Object.entries(contexts).map(([name, context]) => rowOf(name, context, current));
  const { paint } = call.out;
  const columns: readonly Column<Row>[] = [
    { title: "", value: (row) => (row.current ? "*" : ""), paint: paint.green },
    { title: "NAME", value: ({ name }) => name, paint: (text) => paint.bold(text) },
    { title: "URL", value: ({ url }) => url, cut: "middle" },
    { title: "NAMESPACE", value: ({ namespace }) => namespace ?? "", optional: true },
    { title: "TOKEN", value: ({ hasToken }) => (hasToken ? "yes" : ""), optional: true },
  ];
  call.out.table(rows, columns, "There are no contexts. Add one with: holdfast context add <name> --url <url>");
  if (call.out.isTerminal && rows.length > 0) call.out.note(call.out.errorPaint.dim(contextsFile(call.io)));
  return undefined;
};

export const remove: Action = async (call) => {
  const name = call.argument("name");
  const { current, contexts } = readContexts(call.io);
  const { [name]: gone, ...rest } = contexts;
  if (gone === undefined) throw unknownContext(name, Object.keys(contexts));
  writeContexts(call.io, { current: current === name ? null : current, contexts: rest });
  call.out.done(`Removed ${call.out.paint.bold(name)}`, { name, removed: true });
  return undefined;
};

function rowOf(name: string, { url, namespace, token }: Context, current: string | null): Row {
  return {
    name,
    url: shownUrl(url),
    namespace: namespace ?? null,
    hasToken: token !== undefined,
    current: name === current,
  };
}
