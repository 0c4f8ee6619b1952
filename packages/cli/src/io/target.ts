/** Which store or server is meant: a flag, else the environment, else a context, else a server on this machine. */
import path from "node:path";
import { fileURLToPath } from "node:url";
import { readContexts } from "./contexts.ts";
import { EXIT } from "./exit-code.ts";
import { CommandError } from "./failure.ts";
import type { Io } from "./io.ts";

export const DEFAULT_URL = "http://127.0.0.1:7433";

export interface Target {
  readonly url: string;
  readonly namespace: string | undefined;
  readonly token: string | undefined;
  /** Where the URL comes from. */
  readonly from: "flag" | "environment" | "context" | "default";
}

export interface TargetFlags {
  readonly url: string | undefined;
  readonly namespace: string | undefined;
  readonly token: string | undefined;
  readonly context: string | undefined;
}

export function findTarget(flags: TargetFlags, io: Pick<Io, "env">): Target {
  const { HOLDFAST_URL, HOLDFAST_NAMESPACE, HOLDFAST_TOKEN, HOLDFAST_CONTEXT } = io.env;
  const wanted = flags.context ?? (HOLDFAST_CONTEXT || undefined);
  const { current, contexts } = readContexts(io);
  const name = wanted ?? current;
  const context = name === null ? undefined : contexts[name];
  if (wanted !== undefined && context === undefined) throw unknownContext(wanted, Object.keys(contexts));
  const found = ([flag, environment, own]: readonly (string | undefined)[]): string | undefined =>
    flag ?? (environment || undefined) ?? own;
  // A named context is a flag: it comes before the environment.
  const first = flags.context === undefined ? undefined : context;
  const url = found([flags.url ?? first?.url, HOLDFAST_URL, context?.url]);
  const from =
    flags.url !== undefined || first !== undefined
      ? "flag"
      : HOLDFAST_URL
        ? "environment"
        : context
          ? "context"
          : "default";
  // Namespace and token of a context belong to its URL, and to no other.
  const same = url !== undefined && url === context?.url ? context : undefined;
  return {
    url: url ?? DEFAULT_URL,
    namespace: found([flags.namespace ?? first?.namespace, HOLDFAST_NAMESPACE, same?.namespace]),
    token: found([flags.token ?? first?.token, HOLDFAST_TOKEN, same?.token]),
    from,
  };
}

export function unknownContext(name: string, known: readonly string[]): CommandError {
  const list =
    known.length === 0 ? "There is none; add one with: holdfast context add" : `There are: ${known.join(", ")}`;
  return new CommandError(`There is no context "${name}". ${list}.`, {
    code: "context_not_found",
    kind: "NotFound",
    exitCode: EXIT.notFound,
    data: { context: name },
  });
}

/** The file of a SQLite URL, as the adapter reads it; undefined for other URLs, and for those that the adapter refuses. */
export function sqliteFile(url: string, folder: string): string | undefined {
  const [, rest = ""] = /^(?:file|sqlite):(.*)$/is.exec(url) ?? [];
  if (rest === "" || rest === ":memory:" || /[?#\0]/.test(rest)) return undefined;
  if (!rest.startsWith("//")) return path.resolve(folder, rest);
  try {
    return fileURLToPath(`file:${rest}`);
  } catch {
    return undefined;
  }
}

/** A URL for people: without a password. */
export function shownUrl(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^/@?#]*?):[^/@?#]*@/i, "$1:***@").replace(/([?&]password=)[^&#]*/gi, "$1***");
}
