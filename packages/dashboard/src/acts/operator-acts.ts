/** What is done to queues, workers, tasks, versions, retention, keys. */
import { createHash } from "node:crypto";
import type { QueueOptions, RetentionOptions } from "holdfast";
import { ROLES, type Role } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import { mayOpen } from "../gate/visitor.ts";
import type { Ask } from "../reads/scope.ts";
import { tokenOf } from "../reads/tasks.ts";
import { optionalNumber, parsedValue, record, text } from "./json-input.ts";

export async function setLimits({ scope, parts, body }: Ask): Promise<object> {
  await scope.act.queues.set(parts["name"] as string, record(record(body)["limits"]) as QueueOptions);
  return {};
}

export async function drainWorker({ scope, parts }: Ask): Promise<object> {
  await scope.act.workers.drain(parts["workerId"] as string);
  return {};
}

export async function completeTask({ scope, body }: Ask): Promise<object> {
  const asked = record(body);
  await scope.act.tasks.complete(await tokenOf(scope, asked["ref"]), parsedValue(asked["result"], "result"));
  return {};
}

export async function failTask({ scope, body }: Ask): Promise<object> {
  const asked = record(body);
  await scope.act.tasks.fail(await tokenOf(scope, asked["ref"]), new Error(text(asked, "message")));
  return {};
}

export async function retryTask({ scope, body }: Ask): Promise<object> {
  await scope.act.tasks.retry(await tokenOf(scope, record(body)["ref"]));
  return {};
}

export function versionAct(name: "default" | "canary" | "deprecate"): (ask: Ask) => Promise<object> {
  return async ({ scope, parts, body }) => {
    const asked = record(body);
    const [workflow, version] = [parts["name"] as string, text(asked, "version")];
    const { versions } = scope.act;
    if (name === "default") await versions.setDefault(workflow, version);
    else if (name === "canary") await versions.canary(workflow, version, optionalNumber(asked, "share") ?? 0);
    else await versions.deprecate(workflow, version, asked["deprecated"] !== false);
    return {};
  };
}

export async function setRetention({ scope, body }: Ask): Promise<object> {
  await scope.act.retention.set(record(record(body)["retention"]) as RetentionOptions);
  return {};
}

/** A session is a key of the store, too. */
export async function revokeKey({ scope, parts }: Ask): Promise<object> {
  const { access } = scope.store;
  const found = await access?.readKey({ id: parts["id"] as string });
  if (!access || !found || !mayOpen(scope.visitor, found.key.namespace))
    throw refusal(404, "not_found", `There is no key "${parts["id"]}".`);
  await access.revokeKey({ id: parts["id"] as string });
  return {};
}

/** `hf_<id>_<256 random bits>`, of which the store gets the SHA-256. */
export async function createKey({ scope, body }: Ask): Promise<object> {
  const { access, random } = scope.store;
  if (!access) throw refusal(501, "not_supported", "This store keeps no API keys here: use the server's.");
  const asked = record(body);
  const [name, role, namespace] = [text(asked, "name"), text(asked, "role"), text(asked, "namespace")];
  if (!(ROLES as readonly string[]).includes(role))
    throw refusal(400, "bad_request", `role is one of ${ROLES.join(", ")}.`);
  if (!mayOpen(scope.visitor, namespace)) throw refusal(403, "permission_denied", "That namespace is not yours.");
  const hex = (bytes: number): string => Buffer.from(random.bytes(bytes)).toString("hex");
  const id = hex(8);
  const token = `hf_${id}_${hex(32)}`;
  const hash = createHash("sha256").update(token).digest("hex");
  const expiresAt = optionalNumber(asked, "expiresAt") ?? null;
  await access.addKey({ id, hash, name: name.slice(0, 200), role: role as Role, namespace, expiresAt });
  return { id, token };
}
