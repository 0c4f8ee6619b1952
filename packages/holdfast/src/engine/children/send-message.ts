import { inboxFull, runClosed, runNotFound } from "../../calls/refused-message.ts";
import { settledFate, updateFailure } from "../../calls/update-answer.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { replyMessageId, sentMessageId } from "../../model/ids.ts";
import { EMPTY_PAYLOAD } from "../../model/payload.ts";
import type { Run } from "../../model/run.ts";
import { traceOf } from "../../model/run-seed.ts";
import { tracedName } from "../../model/trace-context.ts";
import type { DeliverMessage, DeliverOutcome, RunRef } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Machine } from "../../replay/machine.ts";
import type { DrivenOp } from "../../replay/op.ts";
import type { MessageTarget, MessageWork } from "../../replay/ops/message-work.ts";
import type { ExecutorHost } from "../execute/executor-host.ts";
import type { QueuedDraft } from "../execute/message-draft.ts";
import { endDraft } from "./end-draft.ts";

/** Sends what the op asks for; the event that follows, or undefined if that comes as a message. */
export async function sendMessage(
  { others, telemetry }: Pick<ExecutorHost, "others" | "telemetry">,
  run: Run,
  op: DrivenOp,
): Promise<QueuedDraft | undefined> {
  const { to, content } = op.message as MessageWork;
  const about = addressOf(run, to);
  if (content.type === "result") {
    const { namespace, runId } = run;
    const { outcome, end } = await others.watch({ run: refOf(to), by: { namespace, runId, op: op.id } });
    if (outcome === "not_allowed") throw namespaceRefused(run, to.namespace);
    if (outcome === "not_found") throw runNotFound(to.id, to.namespace);
    const watched = end ?? (content.workflow === undefined ? null : await others.readLast(refOf(to)));
    if (content.workflow !== undefined && watched && watched.workflow !== content.workflow)
      throw mismatch(to, watched, content.workflow);
    return end ? endDraft("message", op.id, end, about) : undefined;
  }
  const message: DeliverMessage = {
    to: refOf(to),
    kind: content.type,
    name: content.type === "cancel" ? content.reason : signalName(telemetry, run, to, content),
    messageId: sentMessageId(run.runId, op.id),
    payload: content.type === "cancel" ? EMPTY_PAYLOAD : content.payload,
    from: run.namespace,
    ...(content.type === "update" ? { replyTo: { namespace: run.namespace, runId: run.runId, op: op.id } } : {}),
  };
  const delivered = await others.deliver(message);
  requireDelivered(delivered, run, to, content.type);
  // Of one that was sent before, the answer may have come before, and for nobody.
  if (content.type === "update")
    return delivered.outcome === "duplicate" ? answered(others, message, op.id, about) : undefined;
  return { type: "message_sent", op: op.id, meta: about };
}

/** A signal goes with the trace of its sender. */
function signalName(
  telemetry: Telemetry | undefined,
  { runId, seed }: Run,
  { namespace, id }: MessageTarget,
  { type, name }: { readonly type: string; readonly name: string },
): string {
  if (!telemetry?.signal || type !== "signal") return name;
  const trace = traceOf(seed);
  const about = { namespace, signal: name, to: id, runId };
  return tracedName(name, telemetry.signal(trace === undefined ? about : { ...about, trace }));
}

/** The event with the answer to an update, if it has one already; otherwise that comes as a message. */
async function answered(
  others: ExecutorHost["others"],
  { to: run, messageId, name }: DeliverMessage,
  op: string,
  meta: ReturnType<typeof addressOf>,
): Promise<QueuedDraft | undefined> {
  const [state] = await others.call((store) => store.inbox.replies({ updates: [{ run, messageId }] }));
  const fate = state && settledFate(state);
  if (!fate) return undefined;
  const failure = updateFailure({ name, id: op }, fate);
  if (failure) throw failure;
  const payload = fate.event?.payload;
  return { type: "message_sent", op, meta, ...(payload ? { payload } : {}) };
}

function requireDelivered({ outcome, status }: DeliverOutcome, run: Run, to: MessageTarget, type: string): void {
  const { id } = to;
  if (outcome === "not_allowed") throw namespaceRefused(run, to.namespace);
  if (outcome === "not_found") throw runNotFound(id, to.namespace);
  // A run that has ended needs no cancel.
  if (outcome === "closed" && type !== "cancel") throw runClosed(id, status);
  if (outcome === "full") throw inboxFull(id);
}

/** Whether the answer comes as a message. */
export function isAwaited({ content: { type } }: MessageWork): boolean {
  return type === "result" || type === "update";
}

/** Whether it is the answer of a run that was the child once: the one that has taken its place is asked. */
export function isFromFormer({ child }: MessageWork, endOf: string): boolean {
  return child?.former.some((runId) => endOf === runId || endOf.startsWith(replyMessageId(runId, ""))) ?? false;
}

/** As the event says it. */
export function addressOf(run: Pick<Run, "namespace">, { namespace, id, runId }: MessageTarget) {
  const to = runId === undefined ? { id } : { id, runId };
  return namespace === run.namespace ? { to } : { to, namespace };
}

/** The end of a run that was watched comes as a message that does not say whom the op had asked for. */
export function withAddress(draft: QueuedDraft, machine: Pick<Machine, "run" | "op">): QueuedDraft {
  const message = draft.endOf === undefined ? undefined : machine.op(draft.op)?.message;
  return message ? { ...draft, meta: { ...addressOf(machine.run, message.to), ...draft.meta } } : draft;
}

function refOf({ namespace, id, runId }: MessageTarget): RunRef {
  return runId === undefined ? { namespace, id } : { namespace, runId };
}

function mismatch({ id }: MessageTarget, { workflow }: { readonly workflow: string }, expected: string): HoldfastError {
  const message = `Run "${id}" belongs to workflow "${workflow}", not "${expected}". Correct the id, or use ctx.resultOf(id).`;
  return new HoldfastError("workflow_mismatch", message, { data: { id, workflow, expected } });
}

export function namespaceRefused({ namespace: own }: Pick<Run, "namespace">, namespace: string): HoldfastError {
  const message = `Namespace "${namespace}" does not let in runs of namespace "${own}". Call hf.namespaces.allow("${own}") on a client of namespace "${namespace}".`;
  return new HoldfastError("namespace_refused", message, { data: { namespace, from: own } });
}
