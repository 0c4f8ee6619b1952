/**
 * Against pages that reach for the dashboard behind the reader's back. Browsers say where a request comes from: `Origin` with
 * everything that may change something, `Sec-Fetch-Site` with everything. A page whose name was pointed at this machine (DNS rebinding) names a foreign host.
 */
import { type Refusal, refusal } from "../answers/refusal.ts";

const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
/** A proxy adds them: whoever is behind one is not local, whatever the address says. */
const FORWARDING = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-server",
  "x-real-ip",
  "cf-connecting-ip",
  "true-client-ip",
];

/** The host that the request names, in lower case, with its port. */
export function hostOf(request: Request): string {
  return (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
}

export function isLocal(request: Request): boolean {
  return LOCAL_HOSTS.includes(nameOf(hostOf(request))) && !FORWARDING.some((name) => request.headers.has(name));
}

/** `hosts`: those that may be named, with a port or without; undefined: any. */
export function hostFault(request: Request, hosts: readonly string[] | undefined): Refusal | undefined {
  const host = hostOf(request);
  if (hosts === undefined || hosts.includes(host) || hosts.includes(nameOf(host))) return undefined;
  return refusal(403, "bad_host", `The host "${host.slice(0, 100)}" is not one of this dashboard's.`);
}

/** A read: by a page of the dashboard itself, by the reader who opens one, or by a program. */
export function readFault(request: Request, origins: readonly string[] = []): Refusal | undefined {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  if (origin !== null && !isOwn(origin, request, origins)) return foreignOrigin(origin, request);
  if (site === null || site === "same-origin" || site === "none") return undefined;
  // A link in a mail or a chat leads to a page, never to data.
  return request.headers.get("sec-fetch-mode") === "navigate" && !isCall(request) ? undefined : foreign();
}

/** Whatever changes something: JSON, the header that no form and no foreign page can send, and an origin that is our own. */
export function changeFault(request: Request, origins: readonly string[] = []): Refusal | undefined {
  const { headers } = request;
  const type = (headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") return refusal(415, "csrf", "Send JSON, with content-type: application/json.");
  if (headers.get("x-holdfast-csrf") !== "1") return refusal(403, "csrf", "Send the header x-holdfast-csrf: 1.");
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return foreign();
  const origin = headers.get("origin");
  if (origin !== null) return isOwn(origin, request, origins) ? undefined : foreignOrigin(origin, request);
  // No browser sends a token by itself: it is a program, which has no origin.
  const isProgram = headers.has("authorization") && !headers.has("cookie") && site === null;
  return isProgram ? undefined : refusal(403, "csrf", "The request does not say its origin.");
}

function isCall(request: Request): boolean {
  return request.headers.get("sec-fetch-dest") === "empty";
}

function foreign(): Refusal {
  return refusal(403, "csrf", "The page is not one of this dashboard's.");
}

/** It may be no attack: a proxy that names itself as the host looks the same from here. */
function foreignOrigin(origin: string, request: Request): Refusal {
  return refusal(
    403,
    "csrf",
    `The page is of ${origin.slice(0, 100)}, and the request is for ${hostOf(request).slice(0, 100)}. Behind a proxy, let it pass on Host, or name the origin in the option origins.`,
  );
}

/** `origins`: those that the option names. */
function isOwn(origin: string, request: Request, origins: readonly string[]): boolean {
  if (origins.includes(origin)) return true;
  try {
    return new URL(origin).host.toLowerCase() === hostOf(request);
  } catch {
    return false; // "null", or no URL at all
  }
}

function nameOf(host: string): string {
  return host.replace(/:\d+$/, "");
}
