import {
  checkStoreOptions,
  HoldfastError,
  isHoldfastError,
  type OpenedStore,
  type OpenStoreOptions,
} from "holdfast/adapter";
import { NoSession, openHttp2Link } from "./http2-link.ts";
import { openRemote, type RemoteParams } from "./remote-store.ts";
import { UnaryLine } from "./unary-line.ts";

/** Opens the store of a server: `https://host:7433`. */
export function openStore(url: string, options: OpenStoreOptions): Promise<OpenedStore> {
  return openStoreWith(url, options, {});
}

/** The same, with what only tests want. */
export async function openStoreWith(
  url: string,
  options: OpenStoreOptions,
  more: Pick<RemoteParams, "duties" | "hintsOf">,
): Promise<OpenedStore> {
  checkStoreOptions(options);
  const { clock, random, log, tls } = options;
  const address = readAddress(url);
  const where = address.host;
  const token = async (): Promise<string | undefined> =>
    typeof options.token === "function" ? options.token() : options.token;
  return openRemote({
    clock,
    random,
    log,
    where,
    ...more,
    openLink: async (events) => openHttp2Link({ url: address, token: await token(), tls }, events),
    openUnary: async (error, hints) => {
      if (!isNoSession(error)) return undefined;
      const line = new UnaryLine({ ...hints, clock, url: address, token, tls });
      const welcome = await line.open().catch((failure: unknown) => {
        line.leave();
        // There is a server, and it refuses this client.
        if (!isHoldfastError(failure, "store_unavailable")) throw failure;
      });
      if (!welcome) return undefined;
      const reason = (error as Error).message;
      const what = "the way to the server does not carry HTTP/2 streams; calls go one by one, and hints are polled";
      log.warn({ where, reason }, what);
      return { line, welcome };
    },
  });
}

function isNoSession(error: unknown): boolean {
  return error instanceof NoSession || (error instanceof Error && error.cause instanceof NoSession);
}

/** Says nothing of the URL but what is wrong: it may have a secret in it. */
function readAddress(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  const fault =
    address === undefined || address.hostname === ""
      ? "cannot be read"
      : address.username !== "" || address.password !== ""
        ? "has a user or a password in it; pass the option token instead"
        : address.pathname !== "/" || address.search !== "" || address.hash !== ""
          ? "has more than a host and a port"
          : undefined;
  if (address && fault === undefined) return address;
  throw new HoldfastError("invalid_option", `connect: the URL of the server ${fault}. Use https://host:7433.`, {
    data: { option: "url" },
  });
}
