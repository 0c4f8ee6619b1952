/** Payloads of requests, as far as a server judges them. */
import { fromPayload, isEncrypted, type Payload } from "@holdfast/protocol";
import { type Clock, DEFAULT_LIMITS, HoldfastError } from "holdfast/adapter";
import type { NamespaceRules } from "../access/namespace-rules.ts";
import type { RateLimits } from "../access/rate-limits.ts";
import { patiently } from "../patience.ts";
import type { Call } from "./call.ts";

/** What the services of runs are made of. */
export interface WorkflowServiceParams {
  readonly clock: Clock;
  readonly namespaces: NamespaceRules;
  readonly limits: RateLimits;
}

/** The bytes of a payload, unless the namespace takes only others. */
export async function receivedPayload(
  { clock, namespaces, limits }: WorkflowServiceParams,
  { namespace, principal }: Pick<Call, "namespace" | "principal">,
  payload: Payload | undefined,
  what: string,
) {
  const raw = fromPayload(payload, what);
  if (raw === undefined) return undefined;
  requireSmall(raw.bytes.length, what);
  limits.take("bytes", [`key "${principal.id}"`, `namespace "${namespace}"`], raw.bytes.length);
  if (isEncrypted(payload)) return raw;
  const row = await patiently(clock, () => namespaces.read(namespace));
  if (row?.settings.requiresEncryption) {
    const message = `The ${what} is not encrypted, as namespace "${namespace}" requires.`;
    throw new HoldfastError("invalid_argument", message, { data: { namespace } });
  }
  return raw;
}

/** Here, before anything has happened: further in, a result that is too large would fail the step, the task or the run. */
function requireSmall(bytes: number, what: string): void {
  const { payloadMaxBytes } = DEFAULT_LIMITS;
  if (bytes <= payloadMaxBytes) return;
  const message = `The ${what} has ${bytes} bytes; the limit is ${payloadMaxBytes}. Store large data elsewhere, and pass a reference.`;
  throw new HoldfastError("payload_too_large", message, { data: { where: what, bytes, payloadMaxBytes } });
}
