/**
 * Against web pages that reach for a server behind the reader's back. A page sends `Origin` or `Sec-Fetch-Site`, programs do not. A
 * server without authentication also checks `Host`: a page whose name was pointed at this machine (DNS rebinding) has another one.
 */
import type { NodeRequest } from "./request-facts.ts";

const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const SESSION_COOKIE = /(?:^|;\s*)holdfast_session=/;

export interface BrowserRules {
  /** Hosts that may be named; undefined: any. */
  readonly hosts: readonly string[] | undefined;
}

/** For a server that listens on this address. */
export function browserRules(host: string, authenticated: boolean, more: readonly string[]): BrowserRules {
  if (authenticated) return { hosts: undefined };
  return { hosts: [...LOCAL_HOSTS, host.includes(":") ? `[${host}]` : host, ...more] };
}

/** Why the request is refused; undefined if it is not. */
export function browserFault({ headers, method }: NodeRequest, { hosts }: BrowserRules): string | undefined {
  const host = `${headers[":authority"] ?? headers.host ?? ""}`;
  if (hosts && !hosts.includes(host.replace(/:\d+$/, "").toLowerCase()))
    return `The host "${host.slice(0, 100)}" is not one of this server's.`;
  const { origin } = headers;
  const site = headers["sec-fetch-site"];
  const fromPage = origin !== undefined || site !== undefined || SESSION_COOKIE.test(headers.cookie ?? "");
  if (!fromPage) return undefined;
  if (origin !== undefined && hostOf(origin) !== host.toLowerCase()) return "The page is not this server's own.";
  const reads = method === "GET" || method === "HEAD";
  // A link in a mail or a chat: the reader opens a page, and the other one sees nothing of it.
  if (reads && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document") return undefined;
  if (reads && (site === undefined || site === "same-origin" || site === "none")) return undefined;
  if (site !== undefined && site !== "same-origin") return "The page is not this server's own.";
  return headers["x-holdfast-csrf"] === "1" ? undefined : "Requests of pages must carry x-holdfast-csrf: 1.";
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined; // "null", or no URL at all
  }
}
