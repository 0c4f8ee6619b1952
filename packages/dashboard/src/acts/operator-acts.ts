/** What is done to queues, workers, tasks, versions, retention, keys. */
import { createHash } from "node:crypto";
import type { QueueOptions, RetentionOptions } from "holdfast";
import { queueLimits, ROLES, type Role, uuidV7 } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import { mayOpen } from "../gate/visitor.ts";
import type { Ask, Scope } from "../reads/scope.ts";
import { tokenOf } from "../reads/tasks.ts";
import { optionalNumber, parsedValue, record, text } from "./json-input.ts";

export async function setLimits({ scope, parts, body }: Ask): Promise<object> {
  const queue = parts["name"] as string;
  const asked = record(body);
  const limits = givenLimits(asked["limits"]);
  if (asked["expected"] === undefined) await scope.act.queues.set(queue, limits);
  else await setIfStill(scope, queue, limits, givenLimits(asked["expected"]));
  return {};
}

/** As a page shows them, durations are numbers of milliseconds. */
function givenLimits(given: unknown): QueueOptions {
  const inMs = (name: string, value: unknown): unknown =>
    (name === "per" || name === "aging") && typeof value === "number" ? { milliseconds: value } : value;
  return JSON.parse(JSON.stringify(record(given)), inMs) as QueueOptions;
}

/** Sets limits only if they are what the page showed: of two people who change them at once, the second hears of the first. */
async function setIfStill(scope: Scope, queue: string, wanted: QueueOptions, expected: QueueOptions): Promise<void> {
  const { namespace } = scope;
  const { store, clock, random } = scope.store;
  const limits = queueLimits(queue, wanted);
  const still = sortedText(queueLimits(queue, expected));
  // A queue that never had limits takes the first guess; otherwise the answer has the revision to go by. What is read after it is
  // what that revision has, if it is still there when the limits are written.
  for (let revision: string | null = null; ; ) {
    const [state] = await store.queues.list({ namespace, queue, holdersMax: 0 });
    if (sortedText(state?.limits ?? null) !== still)
      throw refusal(409, "limits_changed", `Somebody has changed the limits of queue "${queue}". Look at them again.`);
    const next = uuidV7(clock.now(), random.bytes(16));
    const result = await store.queues.setIfRevision({ namespace, queue, limits, revision, next });
    if (result.outcome === "written") return;
    ({ revision } = result);
  }
}

/** The same text for the same limits, in whatever order they stand. */
function sortedText(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
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
