/**
 * Which calls of a session an operator makes: for the audit log, under the names that these acts have as calls of the services, and
 * for histories, which say who did it. What workers do to runs while they work is none of it: the end of a parent cancels its children, a
 * batch is carried out page by page. Whoever has no worker's role does no such thing, whatever its call looks like.
 */
import { Buffer } from "node:buffer";
import { isBatchNamespace, isCloseReason, type StoreCalls, type StoreMethod } from "holdfast/adapter";
import { isNamespaceName } from "../access/namespace-rules.ts";
import { type AuditedOperation, type Caller, ownerOf } from "./caller.ts";

export type Operation = Omit<AuditedOperation, "outcome">;

interface Act extends Operation {
  /** It looks like what a worker does while it works. */
  readonly atWork?: boolean;
}

type Params<M extends StoreMethod> = Parameters<StoreCalls[M]>[0];
type Message = Params<"inbox.deliver">["messages"][number];
type Put = Params<"schedules.putIfRevision">["puts"][number];

const NONE: readonly never[] = [];
const SUBJECTS_MAX = 3;
const MESSAGES: ReadonlyMap<string, string> = new Map([
  ["cancel", "CancelWorkflow"],
  ["pause", "PauseWorkflow"],
  ["resume", "ResumeWorkflow"],
]);

const ACTS: { readonly [M in StoreMethod]?: (params: Params<M>) => readonly Act[] } = {
  "inbox.deliver": ({ messages }) =>
    messages.flatMap((message) => {
      const action = MESSAGES.get(message.kind);
      if (action === undefined || message.from !== undefined) return [];
      return [{ action, ...nameOf(message.to), atWork: isEngineMessage(message) }];
    }),
  "runs.terminate": ({ runs, error: { data = {} } }) => {
    const atWork = data["batch"] !== undefined || (data["by"] === undefined && isCloseReason(data["reason"]));
    return runs.map((run) => ({ action: "TerminateWorkflow", ...nameOf(run), atWork }));
  },
  "runs.pauseIfIdle": ({ run, error }) => [
    { action: "PauseWorkflow", ...nameOf(run), atWork: error.data?.["batch"] !== undefined },
  ],
  "runs.resumeIfParked": ({ run, event }) => [
    { action: "ResumeWorkflow", ...nameOf(run), atWork: event.meta?.batch !== undefined },
  ],
  // A parent whose child has failed has it go on without naming a call.
  "runs.reopenIfFailed": ({ run, event: { meta } }) => [
    { action: "RetryWorkflow", ...nameOf(run), atWork: meta?.batch !== undefined || meta?.messageId === undefined },
  ],
  "runs.fork": ({ origin }) => [{ action: "ForkWorkflow", namespace: origin.namespace, subject: origin.runId }],
  "runs.start": ({ starts }) =>
    starts
      .filter(({ run }) => isBatchNamespace(run.namespace))
      .map(({ run }) => ({ action: "BatchWorkflows", namespace: run.namespace, subject: run.id })),
  "runs.purge": ({ namespace, runIds }) => {
    // Batches that ended long ago are deleted beside the runs.
    if (isBatchNamespace(namespace)) return NONE;
    const subjects = runIds === undefined || runIds.length === 0 ? [""] : runIds;
    return subjects.map((subject) => ({ action: "PurgeWorkflows", namespace, subject }));
  },
  "schedules.putIfRevision": ({ puts }) =>
    puts.map((put) => ({ action: actOnSchedule(put), namespace: put.namespace, subject: put.id })),
  "schedules.remove": ({ namespace, id }) => [{ action: "DeleteWorkflowSchedule", namespace, subject: id }],
  "versions.updateIfKnown": ({ namespace, workflow, version }) => [
    { action: "UpdateVersion", namespace, subject: `${workflow}@${version}` },
  ],
  "workers.askToDrain": ({ namespace, workerId }) => [{ action: "DrainWorker", namespace, subject: workerId }],
  "queues.setIfRevision": ({ namespace, queue }) => [{ action: "SetQueue", namespace, subject: queue }],
  "retention.set": ({ namespace }) => [{ action: "SetRetention", namespace, subject: "" }],
  "namespaces.allow": ({ namespace, other }) => [{ action: "AllowNamespace", namespace, subject: other }],
  "namespaces.disallow": ({ namespace, other }) => [{ action: "DisallowNamespace", namespace, subject: other }],
  "payloads.replaceIfUnchanged": ({ payloads }) =>
    payloads.map((one) => ({ action: "ReplacePayloads", ...nameOf(one) })),
  "transfers.departIfIdle": (run) => [{ action: "MoveWorkflow", ...nameOf(run) }],
  "transfers.arrive": ({ image: { run } }) => [{ action: "ImportWorkflow", ...nameOf(run) }],
};

/** One for each act and namespace of the call; none if nobody need know of it, or if it makes no sense. */
export function operationsOf(caller: Caller, method: StoreMethod, params: unknown): readonly Operation[] {
  const acts = actsOf(method, params).filter((act) => !isAtWork(caller, act));
  if (acts.length === 0) return NONE;
  const found = new Map<string, { readonly action: string; readonly namespace: string; readonly subjects: string[] }>();
  for (const { action, namespace, subject } of acts) {
    const owner = isNamespaceName(ownerOf(namespace)) ? ownerOf(namespace) : "*";
    const key = `${action} ${owner}`;
    const one = found.get(key) ?? { action, namespace: owner, subjects: [] };
    found.set(key, one);
    if (!one.subjects.includes(subject)) one.subjects.push(subject);
  }
  return [...found.values()].map(({ subjects, ...one }) => ({ ...one, subject: listed(subjects) }));
}

/**
 * Nothing has happened: somebody else was faster, or holds what the call is about, and whoever has made it looks, and makes it again; or the
 * call only asks whether it might purge.
 */
export function isWithoutEffect(method: StoreMethod, params: unknown, answer: unknown): boolean {
  if (method === "runs.purge") return (params as Params<typeof method>).runIds?.length === 0;
  const { outcomes = answer } = (answer ?? {}) as { readonly outcomes?: unknown };
  const list = (Array.isArray(outcomes) ? outcomes : [outcomes]) as readonly ({ readonly outcome?: unknown } | null)[];
  return list.length > 0 && list.every((one) => one?.outcome === "moved" || one?.outcome === "busy");
}

/** The call with who makes it, where an operator did not say. */
export function signedBy(caller: Caller, method: StoreMethod, params: unknown): unknown {
  const { id: by } = caller;
  if (by === undefined) return params;
  if (method === "inbox.deliver") {
    const payload = new Uint8Array(Buffer.from(JSON.stringify(by)));
    const { messages, ...rest } = params as Params<typeof method>;
    // Calls of many are merged into one: each message by itself.
    const isUnsigned = (one: Message): boolean =>
      one.payload?.length === 0 && MESSAGES.has(one.kind) && one.from === undefined && !isEngineMessage(one);
    return { ...rest, messages: messages.map((one) => (isUnsigned(one) ? { ...one, payload } : one)) };
  }
  if (actsOf(method, params).some((act) => isAtWork(caller, act))) return params;
  if (method === "runs.terminate" || method === "runs.pauseIfIdle") {
    const given = params as Params<"runs.terminate">;
    return { ...given, error: { ...given.error, data: { by, ...given.error.data } } };
  }
  if (method === "runs.resumeIfParked" || method === "runs.reopenIfFailed" || method === "runs.fork") {
    const given = params as Params<typeof method>;
    return { ...given, event: { ...given.event, meta: { by, ...given.event.meta } } };
  }
  return params;
}

function actsOf(method: StoreMethod, params: unknown): readonly Act[] {
  const find = ACTS[method];
  if (find === undefined) return NONE;
  try {
    // Whatever is in there besides names: a call that makes no sense may still do something.
    return find(params as never).map((act) => ({ ...act, namespace: `${act.namespace}`, subject: `${act.subject}` }));
  } catch {
    // It is no call at all: whoever makes it is told so.
    return NONE;
  }
}

function isAtWork(caller: Caller, { atWork = false, namespace }: Act): boolean {
  return atWork && caller.allows("worker", ownerOf(namespace));
}

/** A person's call makes no id with a tab in it. */
function isEngineMessage({ messageId }: Message): boolean {
  return `${messageId}`.includes("\t");
}

function actOnSchedule({ revision, definition }: Put): string {
  if (revision === null) return "CreateWorkflowSchedule";
  return definition === undefined ? "TriggerWorkflowSchedule" : "UpdateWorkflowSchedule";
}

function nameOf(run: { readonly namespace: string; readonly runId?: string; readonly id?: string }): {
  readonly namespace: string;
  readonly subject: string;
} {
  return { namespace: run.namespace, subject: run.runId ?? run.id ?? "" };
}

function listed(subjects: readonly string[]): string {
  const more = subjects.length - SUBJECTS_MAX;
  return `${subjects.slice(0, SUBJECTS_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
