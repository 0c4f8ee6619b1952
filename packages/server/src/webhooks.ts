/**
 * Webhooks of others: `POST /hooks/{namespace}/{name}` starts a run or sends a signal. The sender signs the body with a secret that
 * both know; a delivery that comes again has the same id, and happens once.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { RawPayload, RpcCode, toRefusal } from "@holdfast/protocol";
import { signal } from "holdfast";
import { type Client, HoldfastError, isHoldfastError, type Logger, type WebhookSettings } from "holdfast/adapter";
import type { AuditLog } from "./access/audit-log.ts";
import type { FailedLogins } from "./access/failed-logins.ts";
import { isNamespaceName, type NamespaceRules } from "./access/namespace-rules.ts";
import type { RateLimits } from "./access/rate-limits.ts";
import type { ClientPool } from "./client-pool.ts";
import { type NodeResponse, sendJson } from "./port/answers.ts";
import { factsOf, type NodeRequest } from "./port/request-facts.ts";
import { bad, bodyOf, closeAfter, jsonTextOf, textAt } from "./webhook-body.ts";

const DELIVERY_LENGTH_MAX = 200;
/** A delivery that comes again is looked for in all runs of its id, so many at a time. */
const RUNS_AT_ONCE = 100;
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
  readonly failed: FailedLogins;
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
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      return sendJson(response, 405, { code: "unimplemented", message: "Webhooks are delivered with POST." });
    }
    try {
      sendJson(response, 200, await this.#deliver(request, path));
    } catch (error) {
      const { code, message, detail } = toRefusal(error);
      if (code === RpcCode.Internal) this.#params.log.error({ error: String(error) }, "a webhook failed");
      const isTooLarge = isHoldfastError(error, "payload_too_large");
      if (isTooLarge && !request.complete) closeAfter(request, response);
      const waitSeconds = Math.ceil(Number(detail.retryAfterMs) / 1_000);
      if (waitSeconds > 0) response.setHeader("retry-after", String(waitSeconds));
      sendJson(response, isTooLarge ? 413 : (HTTP_STATUS[code] ?? 500), { code: detail.metadata["code"], message });
    }
  }

  async #deliver(request: NodeRequest, path: string): Promise<{ readonly runId: string }> {
    const [, encodedNamespace = "", encodedName = ""] = PATH.exec(path) ?? [];
    const [namespace, name] = [decode(encodedNamespace), decode(encodedName)];
    const { namespaces, limits } = this.#params;
    const body = await bodyOf(request);
    const row = isNamespaceName(namespace) ? await namespaces.read(namespace) : null;
    const { webhooks = {}, requiresEncryption = false } = row?.settings ?? {};
    const webhook = Object.hasOwn(webhooks, name) ? webhooks[name] : undefined;
    // The same answer for a webhook that does not exist: nobody learns names by trying.
    if (!webhook || !isSigned(body, `${request.headers["x-holdfast-signature"] ?? ""}`, webhook.secret))
      throw this.#unsigned(request, namespace, name);
    if (requiresEncryption)
      throw bad(`Namespace "${namespace}" takes only encrypted payloads, which those of webhooks are not.`);
    const delivery = `${request.headers["x-holdfast-delivery"] ?? ""}`;
    if (delivery === "" || delivery.length > DELIVERY_LENGTH_MAX)
      throw bad(`x-holdfast-delivery must have between 1 and ${DELIVERY_LENGTH_MAX} characters.`);
    await namespaces.requireEnabled(namespace);
    limits.take("starts", [`webhook "${name}"`, `namespace "${namespace}"`]);
    return this.#act(namespace, name, webhook, delivery, body);
  }

  /** Whoever signs is never made to wait for what others behind the same address do. One event a minute tells of them all. */
  #unsigned(request: NodeRequest, namespace: string, subject: string): HoldfastError {
    const { failed, audit } = this.#params;
    const { address } = factsOf(request);
    failed.requirePatience(address);
    if (failed.note(address) === 1) {
      const known = isNamespaceName(namespace) ? namespace : "*";
      const outcome = "unauthenticated";
      audit.add({ actor: "webhook", action: "Webhook", namespace: known, subject, outcome, address });
    }
    return new HoldfastError("unauthenticated", "There is no such webhook, or the signature is wrong.");
  }

  #act(namespace: string, name: string, webhook: WebhookSettings, delivery: string, body: Buffer) {
    const json = jsonTextOf(body);
    const payload = new RawPayload(new Uint8Array(body));
    const { idPath, keyPath } = webhook;
    const id = idPath === undefined ? `${name}:${delivery}` : textAt(json, idPath, "id");
    const key = keyPath === undefined ? {} : { key: textAt(json, keyPath, "key") };
    return this.#params.clients.use(namespace, async ({ raw }) => {
      const { workflow, signal: signalName } = webhook;
      if (signalName === undefined) {
        // A delivery that comes again finds its run, also after that has ended.
        const run = await raw.start(workflow as string, payload, { id, ...key });
        return { runId: run.runId };
      }
      return signalOnce({ client: raw, workflow, signalName, id, key, delivery, payload });
    });
  }
}

interface SignalDelivery {
  readonly client: Client;
  readonly workflow: string | undefined;
  readonly signalName: string;
  readonly id: string;
  /** Of a run that is started. */
  readonly key: { readonly key?: string };
  readonly delivery: string;
  readonly payload: RawPayload;
}

/**
 * A run knows the messages that it got, also when it has ended: so every run of the id that has ended is asked first, and then the
 * open one gets the signal by its own run id. If it ends in between, and another run begins, they are all asked again.
 */
async function signalOnce(given: SignalDelivery): Promise<{ readonly runId: string }> {
  const { client, workflow, signalName, id, key, delivery, payload } = given;
  const definition = signal<unknown>(signalName);
  const has = async (runId: string): Promise<boolean> => {
    try {
      await client.get({ runId }).signal(definition, payload, { id: delivery });
      return true;
    } catch (error) {
      if (!isHoldfastError(error, "run_closed") && !isHoldfastError(error, "run_not_found")) throw error;
      return false;
    }
  };
  for (let last: string | undefined; ; ) {
    const { found, newest } = await askRuns(client, id, has);
    if (found !== undefined) return { runId: found };
    // No other run has begun while these were asked.
    if (newest === last || newest === undefined) break;
    last = newest;
  }
  if (workflow === undefined) {
    const handle = client.get(id);
    await handle.signal(definition, payload, { id: delivery });
    return { runId: (await handle.describe()).runId };
  }
  return client.signalWithStart(workflow, payload, definition, payload, { id, ...key, signalId: delivery });
}

interface AskedRuns {
  /** The run that has the signal, now or for long. */
  readonly found?: string;
  readonly newest?: string;
}

/** A page of runs is asked in one call of the store: an id may have had many. */
async function askRuns(client: Client, id: string, has: (runId: string) => Promise<boolean>): Promise<AskedRuns> {
  let newest: string | undefined;
  let open: string | undefined;
  for (let cursor: string | undefined; ; ) {
    const page = await client.list({ id, limit: RUNS_AT_ONCE, ...(cursor === undefined ? {} : { cursor }) });
    newest ??= page.runs[0]?.runId;
    open ??= page.runs.find(({ endedAt }) => endedAt === null)?.runId;
    const ended = page.runs.filter(({ endedAt }) => endedAt !== null);
    const answers = await Promise.all(ended.map(async ({ runId }) => ((await has(runId)) ? runId : undefined)));
    const found = answers.find((runId) => runId !== undefined);
    if (found !== undefined) return { found };
    if (page.cursor === null) break;
    cursor = page.cursor;
  }
  const asked = newest === undefined ? {} : { newest };
  return open !== undefined && (await has(open)) ? { ...asked, found: open } : asked;
}

function isSigned(body: Buffer, given: string, secret: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
  const signature = Buffer.from(given);
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
