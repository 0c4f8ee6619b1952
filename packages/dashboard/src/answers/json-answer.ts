import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Refusal } from "./refusal.ts";

const zip = promisify(gzip);
/** Smaller answers fit into one packet anyway. */
const ZIP_BYTES_MIN = 1_024;

export async function jsonAnswer(request: Request, value: unknown, status = 200): Promise<Response> {
  return textAnswer(request, JSON.stringify(value), "application/json; charset=utf-8", status);
}

export async function refusalAnswer(request: Request, { status, body }: Refusal): Promise<Response> {
  const answer = await jsonAnswer(request, body, status);
  const { retryAfterMs } = body;
  if (retryAfterMs !== undefined) answer.headers.set("retry-after", `${Math.ceil(retryAfterMs / 1_000)}`);
  return answer;
}

/** A file for the reader to keep, never something for the browser to show: whatever it contains, it is not executed. */
export function attachment(name: string, text: string | Uint8Array, type: string): Response {
  const plain = name.replace(/[^\w.-]+/g, "_").slice(0, 100);
  return new Response(text as string, {
    headers: {
      "content-type": type,
      "content-disposition": `attachment; filename="${plain}"`,
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; sandbox",
    },
  });
}

async function textAnswer(request: Request, text: string, type: string, status: number): Promise<Response> {
  const headers = new Headers({ "content-type": type, "cache-control": "no-store", vary: "accept-encoding" });
  if (text.length < ZIP_BYTES_MIN || !acceptsZip(request)) return new Response(text, { status, headers });
  headers.set("content-encoding", "gzip");
  return new Response(new Uint8Array(await zip(text)), { status, headers });
}

export function acceptsZip(request: Request): boolean {
  return /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
}
