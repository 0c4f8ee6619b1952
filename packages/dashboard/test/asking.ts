/** Requests as a page of the dashboard sends them. */
import type { Dashboard } from "../src/index.ts";

export const ORIGIN = "http://127.0.0.1:7433";

export interface Asked {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it
  readonly body: any;
  readonly headers: Headers;
}

type Board = Pick<Dashboard, "fetch" | "base">;

export async function get(board: Board, path: string, headers: Record<string, string> = {}): Promise<Asked> {
  return asked(
    await board.fetch(new Request(`${ORIGIN}${board.base}/${path}`, { headers: { host: host(), ...headers } })),
  );
}

export async function post(
  board: Board,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Asked> {
  const sent = {
    host: host(),
    origin: ORIGIN,
    "content-type": "application/json",
    "x-holdfast-csrf": "1",
    ...headers,
  };
  const wanted = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== ""));
  const request = new Request(`${ORIGIN}${board.base}/${path}`, {
    method: "POST",
    headers: wanted,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return asked(await board.fetch(request));
}

function host(): string {
  return new URL(ORIGIN).host;
}

async function asked(response: Response): Promise<Asked> {
  const text = await response.text();
  const json = (response.headers.get("content-type") ?? "").startsWith("application/json") && text !== "";
  return { status: response.status, body: json ? JSON.parse(text) : text, headers: response.headers };
}
