/** What a webhook's body says. */
import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { Readable } from "node:stream";
import { isTooDeep, JSON_DEPTH_MAX } from "@holdfast/protocol";
import { HoldfastError } from "holdfast/adapter";
import type { NodeResponse } from "./port/answers.ts";
import type { NodeRequest } from "./port/request-facts.ts";

export const BODY_BYTES_MAX = 1024 * 1024;
/** A body that is too large is read to its end, so that its connection can be used again; beyond this the connection is closed. */
const DRAINED_BYTES_MAX = 8 * 1024 * 1024;
/** Strings, which are skipped, and numbers of a text that is JSON. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WHOLE = /^-?\d+$/;

export async function bodyOf(request: NodeRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Without an end to it when this stops reading: the answer is still to come.
  for await (const chunk of (request as Readable).iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length;
    if (length <= BODY_BYTES_MAX) chunks.push(chunk as Buffer);
    else if (length > DRAINED_BYTES_MAX) break;
  }
  if (length > BODY_BYTES_MAX)
    throw new HoldfastError("payload_too_large", `The body has more than ${BODY_BYTES_MAX} bytes.`);
  return Buffer.concat(chunks);
}

/** Ends the connection with the answer, or the stream: what is still to come of the request is read by nobody. */
export function closeAfter(request: NodeRequest, response: NodeResponse): void {
  if ("stream" in request) {
    const { stream } = request;
    (response as NodeJS.EventEmitter).once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
  } else (response as ServerResponse).setHeader("connection", "close");
}

/** The text of the body, which is JSON. */
export function jsonTextOf(body: Buffer): string {
  if (isTooDeep(body)) throw bad(`The body is nested more than ${JSON_DEPTH_MAX} levels deep.`);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    JSON.parse(text);
    return text;
  } catch {
    throw bad("The body is not JSON.");
  }
}

/** The text or the number at the path. A number keeps its digits, also those that a double has no room for. */
export function textAt(json: string, path: string, what: "id" | "key"): string {
  const found = valueAt(JSON.parse(json), path);
  if (typeof found === "string" && found !== "") return found;
  if (typeof found !== "number")
    throw bad(`The body has no text or number at "${path}", where the ${what} of the run should be.`);
  const quoted = json.replace(TOKENS, (token) => (token.startsWith('"') ? token : `"${token}"`));
  const digits = valueAt(JSON.parse(quoted), path) as string;
  if (WHOLE.test(digits)) return digits;
  const rule = `The ${what} of a run is a text, or a whole number without exponent.`;
  throw bad(`The number at "${path}" is ${digits.slice(0, 40)}. ${rule}`);
}

function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const key of path.split("."))
    found =
      typeof found === "object" && found !== null && Object.hasOwn(found, key)
        ? (found as Record<string, unknown>)[key]
        : undefined;
  return found;
}

export function bad(message: string): HoldfastError {
  return new HoldfastError("invalid_argument", message);
}
