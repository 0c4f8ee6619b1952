/** What a webhook's body says. */
import { isTooDeep, JSON_DEPTH_MAX } from "@holdfast/protocol";
import { HoldfastError } from "holdfast/adapter";
import type { NodeRequest } from "./port/request-facts.ts";

export const BODY_BYTES_MAX = 1024 * 1024;
/** A body that is too large is read to its end, so that its connection can be used again; beyond this it is cut off. */
const DRAINED_BYTES_MAX = 8 * 1024 * 1024;
/** Strings, which are skipped, and numbers of a text that is JSON. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WHOLE = /^-?\d+$/;

export async function bodyOf(request: NodeRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += (chunk as Buffer).length;
    if (length <= BODY_BYTES_MAX) chunks.push(chunk as Buffer);
    else if (length > DRAINED_BYTES_MAX) break;
  }
  if (length > BODY_BYTES_MAX)
    throw new HoldfastError("payload_too_large", `The body has more than ${BODY_BYTES_MAX} bytes.`);
  return Buffer.concat(chunks);
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
export function idAt(json: string, path: string): string {
  const found = valueAt(JSON.parse(json), path);
  if (typeof found === "string" && found !== "") return found;
  if (typeof found !== "number")
    throw bad(`The body has no text or number at "${path}", where the id of the run should be.`);
  const quoted = json.replace(TOKENS, (token) => (token.startsWith('"') ? token : `"${token}"`));
  const digits = valueAt(JSON.parse(quoted), path) as string;
  if (WHOLE.test(digits)) return digits;
  throw bad(`The number at "${path}" is ${digits.slice(0, 40)}. An id is a text, or a whole number without exponent.`);
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
