// Every request of the pages. Reads are GET; everything that changes something is POST with JSON and the header that a form of
// another site cannot send.
import type { ApiError as ApiErrorBody } from "../../src/api/api-messages.ts";
import { encodedPart } from "../../src/api/path-part.ts";
import type { CurlRequest } from "../text/shell-text.ts";
import { ApiError } from "./api-error.ts";
import { setServerTime } from "./server-clock.ts";

/** Where the dashboard is mounted, with a slash at the end: the handler writes it into <base href>. */
export function mountPath(): string {
  return new URL(document.baseURI).pathname.replace(/[^/]*$/, "");
}

/** The options with which the command line finds this namespace. At `/` it is a server that serves the dashboard; elsewhere an application, which it cannot ask. */
export function target(namespace: string): readonly string[] {
  return ["--namespace", namespace, ...(mountPath() === "/" ? ["--url", location.origin] : [])];
}

/** A read that a program asks for with its token. */
export function curlOf(path: string): CurlRequest {
  return { method: "GET", url: new URL(apiPath(path), location.href).href, token: true };
}

export type Params = Readonly<Record<string, string | number | boolean | undefined>>;

/** The address of a read: `api/shop/runs/order-1/timeline`. Parts of the path are to be encoded by the caller. */
export function apiPath(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return `${mountPath()}api/${path}${text === "" ? "" : `?${text}`}`;
}

/** A path of a namespace from parts as they are: `within("shop", "runs", "a/b")` is `shop/runs/a%2Fb`. */
export function within(...parts: readonly (string | number)[]): string {
  return parts.map(encodedPart).join("/");
}

/** GET of something under `api/`. */
export async function readApi<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  return await request<T>(apiPath(path, params), { method: "GET", ...(signal === undefined ? {} : { signal }) });
}

/** POST to something under `api/`. */
export async function writeApi<T>(path: string, body: unknown = {}): Promise<T> {
  return await request<T>(apiPath(path), posted(body));
}

function posted(body: unknown): RequestInit {
  return { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

async function request<T>(url: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    const headers = { accept: "application/json", "x-holdfast-csrf": "1", ...init.headers };
    response = await fetch(url, { ...init, headers, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The server does not answer. Check that it runs and that you are connected.");
  }
  if (!response.ok) throw await errorOf(response);
  if (response.status === 204) return undefined as T;
  const answer = (await response.json()) as T;
  // Nearly every answer says what time it is for the store.
  const now = (answer as { readonly now?: unknown } | null)?.now;
  if (typeof now === "number") setServerTime(now);
  return answer;
}

async function errorOf(response: Response): Promise<ApiError> {
  const fallback = `The server answered ${response.status}.`;
  try {
    const body = (await response.json()) as Partial<ApiErrorBody>;
    return new ApiError(response.status, body.code ?? "unknown", body.message ?? fallback, body.login ?? false);
  } catch {
    return new ApiError(response.status, "unknown", fallback);
  }
}
