import { createHash } from "node:crypto";
import type { AnyWorkflow } from "../../define/definitions.ts";
import type { Environment } from "../../ports/environment.ts";

/**
 * Tells one deployment of a workflow's code from another, by the text of the function and of the program around it, since a
 * bug may be in what the function calls. The same source compiled by another tool counts as different code: a worker that
 * takes up a run without need parks it again, and nothing is executed. The codec belongs to it, whose name lists its keys:
 * the same code with one key more can continue what lacked that key.
 */
export function codeIdentity(
  { fn, definedAt, offers }: AnyWorkflow,
  environment: Environment | undefined,
  codec: string,
): string {
  const file = definedAt?.replace(/:\d+:\d+$/, "");
  const program = file === undefined ? undefined : environment?.programDigest(file);
  return createHash("sha256")
    .update(`${String(fn)}\0${program ?? ""}\0${codec}${offers === undefined ? "" : `\0${JSON.stringify(offers)}`}`)
    .digest("hex")
    .slice(0, 32);
}
