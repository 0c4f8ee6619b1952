/**
 * Webhooks of others: `POST /hooks/{namespace}/{name}` starts a run or sends a signal. The sender signs the body with a secret that
 * both know; a delivery that comes again has the same id, and happens once.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { RawPayload, RpcCode, toRefusal } from "@holdfast/protocol";
import { signal } from "holdfast";
import { HoldfastError, type Logger, type WebhookSettings } from "holdfast/adapter";
import type { AuditLog } from "./access/audit-log.ts";
import type { NamespaceRules } from "./access/namespace-rules.ts";
import type { RateLimits } from "./access/rate-limits.ts";
import type { ClientPool } from "./client-pool.ts";
import { type NodeResponse, sendJson } from "./port/answers.ts";
import { factsOf, type NodeRequest } from "./port/request-facts.ts";

const BODY_BYTES_MAX = 1024 * 1024;
const DELIVERY_LENGTH_MAX = 200;
const PATH = /^\/hooks\/([^/]+)\/([^/?]+)$/;

/** The status of HTTP for each status of a call that can happen here. */
const HTTP_STATUS: Readonly<Record<number, number>> = {
  [RpcCode.InvalidArgument]: 400,
  [RpcCode.Unauthenticated]: 401,
  [RpcCode.PermissionDenied]: 403,
  [RpcCode.NotFound]: 404,
  [RpcCode.AlreadyExists]: 409,
  [RpcCode.FailedPrecondition]: 409,
  [RpcCode.ResourceExhausted]: 429,
  [RpcCode.Unavailable]: 503,
  [RpcCode.DeadlineExceeded]: 503,
};

export interface WebhooksParams {
  readonly namespaces: NamespaceRules;
  readonly limits: RateLimits;
  readonly clients: ClientPool;
  readonly audit: AuditLog;
  readonly log: Logger;
}

export class Webhooks {
  readonly #params: WebhooksParams;

  constructor(params: WebhooksParams) {
    this.#params = params;
  }

  async answer(request: NodeRequest, path: string, response: NodeResponse): Promise<void> {
    try {
      if (request.method !== "POST") throw bad("Webhooks are delivered with POST.");
      sendJson(response, 200, await this.#deliver(request, path));
    } catch (error) {
      const { code, message, detail } = toRefusal(error);
      if (code === RpcCode.Internal) this.#params.log.error({ error: String(error) }, "a webhook failed");
      sendJson(response, HTTP_STATUS[code] ?? 500, { code: detail.metadata["code"], message });
    }
  }

  async #deliver(request: NodeRequest, path: string): Promise<{ readonly runId: string }> {
    const [, encodedNamespace = "", encodedName = ""] = PATH.exec(path) ?? [];
    const [namespace, name] = [decode(encodedNamespace), decode(encodedName)];
    const { namespaces, limits, audit } = this.#params;
    const body = await bodyOf(request);
    const webhook = namespace === "" ? undefined : (await namespaces.read(namespace))?.settings.webhooks?.[name];
    // The same answer for a webhook that does not exist: nobody learns names by trying.
    if (!webhook || !isSigned(body, `${request.headers["x-holdfast-signature"] ?? ""}`, webhook.secret)) {
      const { address } = factsOf(request);
      limits.take("reads", [`webhooks from ${address}`]);
      audit.add({
        actor: "webhook",
        action: "Webhook",
        namespace: namespace || "*",
        subject: name,
        outcome: "unauthenticated",
        address,
      });
      throw new HoldfastError("unauthenticated", "There is no such webhook, or the signature is wrong.");
    }
    const delivery = `${request.headers["x-holdfast-delivery"] ?? ""}`;
    if (delivery === "" || delivery.length > DELIVERY_LENGTH_MAX)
      throw bad(`x-holdfast-delivery must have between 1 and ${DELIVERY_LENGTH_MAX} characters.`);
    await namespaces.requireEnabled(namespace);
    limits.take("starts", [`webhook "${name}"`, `namespace "${namespace}"`]);
    return this.#act(namespace, name, webhook, delivery, body);
  }

  #act(namespace: string, name: string, webhook: WebhookSettings, delivery: string, body: Buffer) {
    const value = parsed(body);
    const payload = new RawPayload(new Uint8Array(body));
    const id = webhook.idPath === undefined ? `${name}:${delivery}` : idAt(value, webhook.idPath);
    return this.#params.clients.use(namespace, async ({ raw }) => {
      const { workflow, signal: signalName } = webhook;
      if (signalName === undefined) {
        // A delivery that comes again finds its run, also after that has ended.
        const run = await raw.start(workflow as string, payload, { id });
        return { runId: run.runId };
      }
      const definition = signal<unknown>(signalName);
      if (workflow === undefined) {
        const handle = raw.get(id);
        await handle.signal(definition, payload, { id: delivery });
        return { runId: (await handle.describe()).runId };
      }
      const options = { id, signalId: delivery };
      const { runId } = await raw.signalWithStart(workflow, payload, definition, payload, options);
      return { runId };
    });
  }
}

function isSigned(body: Buffer, given: string, secret: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
  const signature = Buffer.from(given);
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}

async function bodyOf(request: NodeRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += (chunk as Buffer).length;
    if (length > BODY_BYTES_MAX)
      throw new HoldfastError("payload_too_large", `The body has more than ${BODY_BYTES_MAX} bytes.`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw bad("The body is not JSON.");
  }
}

function idAt(value: unknown, path: string): string {
  let found = value;
  for (const key of path.split("."))
    found =
      typeof found === "object" && found !== null && Object.hasOwn(found, key)
        ? (found as Record<string, unknown>)[key]
        : undefined;
  if (typeof found === "string" && found !== "") return found;
  if (typeof found === "number") return String(found);
  throw bad(`The body has no text or number at "${path}", where the id of the run should be.`);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

function bad(message: string): HoldfastError {
  return new HoldfastError("invalid_argument", message);
}
