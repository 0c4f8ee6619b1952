/** Opens the client of a target. */
import { existsSync } from "node:fs";
import type { Client, Codec, ConnectOptions, Logger } from "holdfast";
import { EXIT } from "./exit-code.ts";
import { CommandError } from "./failure.ts";
import type { Io } from "./io.ts";
import { shownUrl, sqliteFile, type Target } from "./target.ts";

export interface OpenOptions {
  /**
   * What may be created or changed. `"never"`: the store must exist. `"empty"`: tables are created where there are none, and
   * tables of an earlier version are refused, because an update belongs into the hands of whoever deploys. `"always"`: as `migrate`
   * does.
   */
  readonly create?: "never" | "empty" | "always";
  readonly logger?: Logger;
  readonly codec?: Codec;
}

/** Only what went wrong: what the command does, it says itself. */
function quiet(io: Io): Logger {
  const write = (_fields: object, message: string): void => void io.stderr.write(`${message}\n`);
  return { debug() {}, info() {}, warn() {}, error: write };
}

export async function openClient(io: Io, target: Target, options: OpenOptions = {}): Promise<Client> {
  const { create = "never", logger = quiet(io), codec } = options;
  const { url, namespace, token } = target;
  if (isServer(url)) await requireRemote(io, target);
  const core = await io.core();
  const connectOptions = {
    logger,
    ...(namespace === undefined ? {} : { namespace }),
    ...(codec === undefined ? {} : { codec }),
    ...(token === undefined || !isServer(url) ? {} : { token }),
  } as ConnectOptions;
  // The tables behind a server are its own affair.
  if (isServer(url)) return core.connect(url, connectOptions);
  return openStore(io, url, create, (migrate) => core.connect(url, { ...connectOptions, ...migrate }));
}

/** Opens a store, and creates no more than `create` allows. */
export async function openStore<T>(
  io: Io,
  url: string,
  create: NonNullable<OpenOptions["create"]>,
  open: (options: { readonly migrate?: "check" }) => Promise<T>,
): Promise<T> {
  const file = sqliteFile(url, io.cwd);
  if (create === "never" && file !== undefined && !existsSync(file)) throw noFile(url, file);
  if (create === "always") return open({});
  const core = await io.core();
  try {
    return await open({ migrate: "check" });
  } catch (error) {
    const { data } = error as { readonly data?: { readonly found?: unknown; readonly needed?: unknown } };
    if (!core.isHoldfastError(error, "store_refused") || data?.needed === undefined) throw error;
    if (create === "empty" && data.found === 0) return open({});
    throw new core.HoldfastError(
      "store_refused",
      `${shownUrl(url)} ${data.found === 0 ? "has no tables of Holdfast" : `has tables of version ${data.found}, and this program needs ${data.needed}`}. Run: holdfast migrate --url ${shownUrl(url)}`,
      { data: { ...data }, cause: error },
    );
  }
}

export function isServer(url: string): boolean {
  return /^https?:/i.test(url);
}

/** Until the core can open such URLs, say what helps instead of an unknown scheme. */
async function requireRemote(io: Io, { url, from }: Target): Promise<void> {
  if ((await io.importPackage("@holdfast/remote")) !== undefined) return;
  const core = await io.core();
  const what =
    from === "default"
      ? "No store is named, and none of --url, HOLDFAST_URL and a context says where the server is"
      : `${url} is a server, and the package that talks to servers is not installed`;
  const advice =
    from === "default"
      ? "Name a store, such as --url file:app.db or --url postgres://…, or run: holdfast dev"
      : "Run: npm install @holdfast/remote";
  throw new core.HoldfastError("adapter_not_installed", `${what}. ${advice}`, { data: { url } });
}

function noFile(url: string, file: string): CommandError {
  return new CommandError(
    `There is no file ${file}, which ${url} names. Correct the URL, or create the store with: holdfast migrate --url ${url}`,
    { code: "store_not_found", kind: "NotFound", exitCode: EXIT.notFound, data: { file } },
  );
}
