/** Small answers outside of the services. */
import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";

export type NodeResponse = ServerResponse | Http2ServerResponse;

export function sendText(
  response: NodeResponse,
  status: number,
  text: string,
  type = "text/plain; charset=utf-8",
): void {
  if (response.headersSent || response.writableEnded) return;
  const headers = {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  (response as ServerResponse).writeHead(status, headers);
  (response as ServerResponse).end(text);
}

export function sendJson(response: NodeResponse, status: number, value: unknown): void {
  sendText(response, status, `${JSON.stringify(value)}\n`, "application/json");
}
